"""Writes that create, repair and delete ProvisioningRequests and their pod templates.

Source: Kueue pkg/controller/admissionchecks/provisioning (syncOwnedProvisionRequest, createPodTemplate).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.templates import flavored_template, merged_template
from muster.cluster.managed_checks import managed_checks
from muster.cluster.queued_growth import requests_for_growth
from muster.controller.provisioning.check_requests import (
    attempt_of,
    groups_of,
    has_failed,
    is_needed,
    latest_request,
    request_name,
    template_name,
)
from muster.controller.provisioning.pod_set_groups import PodSetGroup
from muster.kube.kinds import POD_TEMPLATES, PROVISIONING_REQUESTS, WORKLOADS, Kind
from muster.kube.writes import Create, Delete, MergePatch, Write
from muster.objects import kueue
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.kueue import AdmissionCheckState
from muster.objects.kueue_checks import PENDING, READY, ProvisioningRequestConfig
from muster.objects.limits import adjusted
from muster.objects.meta import Object, ObjectMeta
from muster.objects.names import MANAGED_LABEL, PROVREQ_ANNOTATION_PREFIX
from muster.objects.pods import read_template

NOT_GROWTH: Mapping[str, Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RequestWrites:
    """The writes for a check's request."""

    # The name of the check.
    check: str
    # Written first, as the autoscaler may read the pod templates as soon as the request exists.
    templates: tuple[Write, ...]
    # None if the request exists, or while an old template of the same name is being deleted.
    request: Create | None


def missing(workload: kueue.Workload, cluster: ClusterState) -> Iterator[RequestWrites]:
    """Yields writes for pending checks without a request for their current attempt.

    Raises: PlacementError if the templates contradict the admission."""
    for state, config in managed_checks(workload.status, cluster):
        if config is None or state.state == READY or not is_needed(workload, config):
            continue
        request = latest_request(workload, state, config, cluster)
        attempt = state.retry_count + 1
        if request is not None:
            if state.state != PENDING or not has_failed(request, workload.status):
                continue
            attempt = (attempt_of(request, workload.metadata.name, state) or 0) + 1
        name = request_name(workload.metadata.name, state.name, attempt)
        if all(
            r.metadata.name != name for r in cluster.requests_of(workload)
        ):  # otherwise that is deleted first
            yield new_request(workload, state, config, name, groups_of(workload, config), cluster)


def new_request(
    workload: kueue.Workload,
    state: AdmissionCheckState,
    config: ProvisioningRequestConfig,
    name: str,
    groups: list[PodSetGroup],
    cluster: ClusterState,
    growth: Mapping[str, Mapping[str, str]] = NOT_GROWTH,
) -> RequestWrites:
    """Returns the writes that create a request and its pod templates. `growth` are labels and annotations of
    a request for growth, by field. Raises: PlacementError."""
    owner = _controlled_by(WORKLOADS, workload.metadata)
    writes = tuple(w for g in groups for w in _template_writes(workload, g, name, owner, cluster))
    existing = [g for g in groups if _find_template(workload, template_name(name, g.first.name), cluster)]
    permanent = [g for g in existing if _is_permanent(workload, template_name(name, g.first.name), cluster)]
    request = _request(workload, config, name, groups, growth) if existing == permanent else None
    return RequestWrites(state.name, writes, request)


def repairs(workload: kueue.Workload, cluster: ClusterState) -> Iterator[RequestWrites]:
    """Recreates templates of existing requests that a user deleted, or that the garbage collector will delete
    as their owner is a former request of the same name. An autoscaler silently skips a request without
    templates. Raises: PlacementError."""
    for state, config in managed_checks(workload.status, cluster):
        if config is None or not is_needed(workload, config):
            continue
        request = latest_request(workload, state, config, cluster)
        if request is None or has_failed(request, workload.status):
            continue
        names = {ps.pod_template_ref.name for ps in request.spec.pod_sets}
        if all(_is_permanent(workload, name, cluster) for name in names):
            continue
        name, owner = request.metadata.name, _controlled_by(PROVISIONING_REQUESTS, request.metadata)
        groups = [g for g in groups_of(workload, config) if template_name(name, g.first.name) in names]
        if len(groups) < len(names):  # the request was created from other pod sets
            yield RequestWrites(state.name, (Delete(PROVISIONING_REQUESTS, request.key),), None)
            continue
        writes = tuple(w for g in groups for w in _template_writes(workload, g, name, owner, cluster))
        yield RequestWrites(state.name, writes, None)


def template_repairs(
    workload: kueue.Workload, group: PodSetGroup, request: ProvisioningRequest, cluster: ClusterState
) -> Iterator[Write]:
    """Yields the writes that recreate the template of an existing request with a single pod set. Raises:
    PlacementError."""
    owner = _controlled_by(PROVISIONING_REQUESTS, request.metadata)
    yield from _template_writes(workload, group, request.metadata.name, owner, cluster)


def _template_writes(
    workload: kueue.Workload, group: PodSetGroup, request: str, owner: dict[str, Any], cluster: ClusterState
) -> Iterator[Write]:
    """Yields the next write on the way to a permanent template of the request; none if it exists."""
    name = template_name(request, group.first.name)
    template = _find_template(workload, name, cluster)
    if template is None:
        metadata = _metadata(workload, name, owner)
        yield Create(POD_TEMPLATES, {"metadata": metadata, "template": _template(workload, group, cluster)})
    elif not template.metadata.deletion_timestamp and not _is_permanent(workload, name, cluster):
        yield Delete(POD_TEMPLATES, template.key)


def _find_template(workload: kueue.Workload, name: str, cluster: ClusterState) -> Object | None:
    return cluster.pod_templates.get(f"{workload.metadata.namespace}/{name}")


def _is_permanent(workload: kueue.Workload, name: str, cluster: ClusterState) -> bool:
    """Returns whether the pod template exists and will not be deleted: its owner is the Workload or an
    existing request."""
    template = _find_template(workload, name, cluster)
    if template is None or template.metadata.deletion_timestamp or template.metadata.controller is None:
        return False
    requests = {r.metadata.uid for r in cluster.requests_of(workload) if not r.metadata.deletion_timestamp}
    return template.metadata.controller.uid in {workload.metadata.uid, *requests}


def _template(workload: kueue.Workload, group: PodSetGroup, cluster: ClusterState) -> dict[str, Any]:
    """Returns the template for the nodes of its flavors, with the effective requests of its pods, from which
    the autoscaler sizes nodes: defaults from limits and LimitRanges, and the overhead of a RuntimeClass."""
    pod_set = group.first
    ranges = cluster.limit_ranges_of(workload)
    pods = read_template(adjusted(pod_set.template, ranges, cluster.runtime_classes)).spec
    whole = merged_template(pod_set.template, flavored_template(workload, pod_set, cluster.flavors))
    spec = whole["spec"]
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    for container, counted in zip(containers, (*pods.init_containers, *pods.containers), strict=True):
        requests = {**counted.resources.limits, **counted.resources.requests}
        if requests:
            container["resources"] = {
                **(container.get("resources") or {}),
                **({"limits": counted.resources.limits} if counted.resources.limits else {}),
                "requests": requests,
            }
    if pods.overhead:
        spec["overhead"] = pods.overhead
    return whole


def _request(
    workload: kueue.Workload,
    config: ProvisioningRequestConfig,
    name: str,
    groups: list[PodSetGroup],
    growth: Mapping[str, Mapping[str, str]],
) -> Create:
    by_user = {
        key.removeprefix(PROVREQ_ANNOTATION_PREFIX): value
        for key, value in workload.metadata.annotations.items()
        if key.startswith(PROVREQ_ANNOTATION_PREFIX)
    }
    metadata = _metadata(workload, name, _controlled_by(WORKLOADS, workload.metadata))
    metadata |= {field: {**metadata.get(field, {}), **added} for field, added in growth.items()}
    body: dict[str, Any] = {
        "metadata": metadata,
        "spec": {
            "provisioningClassName": config.spec.provisioning_class_name,
            "parameters": {**by_user, **config.spec.parameters},  # the administrator's values take precedence
            "podSets": [
                {"podTemplateRef": {"name": template_name(name, g.first.name)}, "count": g.count}
                for g in groups
            ],
        },
    }
    return Create(PROVISIONING_REQUESTS, body)


def _metadata(workload: kueue.Workload, name: str, owner: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": workload.metadata.namespace,
        "labels": {MANAGED_LABEL: "true"},
        "ownerReferences": [owner],
    }


def _controlled_by(kind: Kind[Any], owner: ObjectMeta) -> dict[str, Any]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owner_transfers(workload: kueue.Workload, cluster: ClusterState) -> Iterator[Write]:
    """Transfers the ownership of pod templates from the Workload to their requests once these exist."""
    for request in _needed_requests(workload, cluster):
        for pod_set in request.spec.pod_sets:
            key = f"{workload.metadata.namespace}/{pod_set.pod_template_ref.name}"
            template = cluster.pod_templates.get(key)
            owner = template.metadata.controller if template is not None else None
            if template is not None and owner is not None and owner.uid == workload.metadata.uid:
                references = [_controlled_by(PROVISIONING_REQUESTS, request.metadata)]
                body = {"metadata": {"ownerReferences": references}}
                yield MergePatch(POD_TEMPLATES, key, body, template.metadata.resource_version)


def unused(workload: kueue.Workload, cluster: ClusterState, *, needs_any: bool = False) -> Iterator[Write]:
    """Deletes requests that the Workload does not need, with their pod templates. Without `needs_any`,
    deletes all requests."""
    needed = {r.metadata.name for r in _needed_requests(workload, cluster)} if needs_any else set()
    for request in cluster.requests_of(workload):
        if not request.metadata.deletion_timestamp and request.metadata.name not in needed:
            yield from deletions(request)


def deletions(request: ProvisioningRequest) -> Iterator[Write]:
    """Yields the deletions of a request and its pod templates."""
    for pod_set in request.spec.pod_sets:
        yield Delete(POD_TEMPLATES, f"{request.metadata.namespace}/{pod_set.pod_template_ref.name}")
    yield Delete(PROVISIONING_REQUESTS, request.key)


def _needed_requests(workload: kueue.Workload, cluster: ClusterState) -> Iterator[ProvisioningRequest]:
    """Yields the latest request of each check that needs a request, and those for growth. Raises:
    PlacementError."""
    yield from requests_for_growth(workload, cluster)
    for state, config in managed_checks(workload.status, cluster):
        if config is not None and is_needed(workload, config):
            request = latest_request(workload, state, config, cluster)
            if request is not None:
                yield request
