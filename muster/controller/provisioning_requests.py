"""What is asked of the cloud: ProvisioningRequests with their pod templates, made, handed over, given up.

Source: Kueue pkg/controller/admissionchecks/provisioning (syncOwnedProvisionRequest, createPodTemplate).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from muster.controller.check_states import PENDING, READY
from muster.controller.pod_set_groups import Group
from muster.controller.provisioning import (
    attempt_of,
    groups_of,
    has_failed,
    is_needed,
    latest_request,
    managed_checks,
    request_name,
    template_name,
)
from muster.controller.templates import flavored_template, merged_template
from muster.controller.world import World
from muster.kube.kinds import POD_TEMPLATES, PROVISIONING_REQUESTS, WORKLOADS, Kind
from muster.kube.writes import Create, Delete, MergePatch, Write
from muster.objects import kueue
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.kueue import AdmissionCheckState, ProvisioningRequestConfig
from muster.objects.meta import ObjectMeta


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to be made for a check, and the pod templates that are not there yet: these first,
    as the cloud may read them at once."""

    check: str
    templates: tuple[Create, ...]
    request: Create


def missing(workload: kueue.Workload, world: World) -> Iterator[Ask]:
    """For each check that waits and has no request of this try.

    Raises: PlacementError when the templates can't carry the admission's placement."""
    for state, config in managed_checks(workload.status, world):
        if config is None or state.state == READY or not is_needed(workload, config):
            continue
        request = latest_request(workload, state, config, world)
        attempt = state.retry_count + 1
        if request is not None:
            if state.state != PENDING or not has_failed(request, workload.status):
                continue
            attempt = (attempt_of(request, workload.metadata.name, state) or 0) + 1
        name = request_name(workload.metadata.name, state.name, attempt)
        if all(r.metadata.name != name for r in world.requests_of(workload)):  # else it has to leave first
            yield _ask(workload, state, config, name, world)


def _ask(
    workload: kueue.Workload,
    state: AdmissionCheckState,
    config: ProvisioningRequestConfig,
    name: str,
    world: World,
) -> Ask:
    groups = groups_of(workload, config)
    templates = []
    for group in groups:
        metadata = _metadata(workload, template_name(name, group.first.name))
        if f"{metadata['namespace']}/{metadata['name']}" not in world.pod_templates:
            body = {"metadata": metadata, "template": _template(workload, group, world)}
            templates.append(Create(POD_TEMPLATES, body, exists_ok=True))
    return Ask(state.name, tuple(templates), _request(workload, config, name, groups))


def _template(workload: kueue.Workload, group: Group, world: World) -> dict[str, Any]:
    """On the nodes of its flavors. What the autoscaler counts are requests: a missing one is the limit."""
    pod_set = group.first
    whole = merged_template(pod_set.template, flavored_template(workload, pod_set, world.flavors))
    spec = whole["spec"]
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        resources = container.get("resources") or {}
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    return whole


def _request(
    workload: kueue.Workload, config: ProvisioningRequestConfig, name: str, groups: list[Group]
) -> Create:
    asked = {
        key.removeprefix(kueue.PROVREQ_ANNOTATION_PREFIX): value
        for key, value in workload.metadata.annotations.items()
        if key.startswith(kueue.PROVREQ_ANNOTATION_PREFIX)
    }
    body: dict[str, Any] = {
        "metadata": _metadata(workload, name),
        "spec": {
            "provisioningClassName": config.spec.provisioning_class_name,
            "parameters": {**config.spec.parameters, **asked},
            "podSets": [
                {"podTemplateRef": {"name": template_name(name, g.first.name)}, "count": g.count}
                for g in groups
            ],
        },
    }
    return Create(PROVISIONING_REQUESTS, body)


def _metadata(workload: kueue.Workload, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": workload.metadata.namespace,
        "labels": {kueue.MANAGED_LABEL: "true"},
        "ownerReferences": [_controlled_by(WORKLOADS, workload.metadata)],
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


def handovers(workload: kueue.Workload, world: World) -> Iterator[Write]:
    """Pod templates go with their requests once these are there: until then, with the Workload."""
    for request in _kept(workload, world):
        for pod_set in request.spec.pod_sets:
            key = f"{workload.metadata.namespace}/{pod_set.pod_template_ref.name}"
            template = world.pod_templates.get(key)
            owner = template.metadata.controller if template is not None else None
            if template is not None and owner is not None and owner.uid == workload.metadata.uid:
                references = [_controlled_by(PROVISIONING_REQUESTS, request.metadata)]
                body = {"metadata": {"ownerReferences": references}}
                yield MergePatch(POD_TEMPLATES, key, body, template.metadata.resource_version)


def unused(workload: kueue.Workload, world: World, *, needs_any: bool = False) -> Iterator[Write]:
    """Requests that nothing waits for or runs on any more, and their pod templates: without
    `needs_any` all of them."""
    kept = {r.metadata.name for r in _kept(workload, world)} if needs_any else set()
    namespace = workload.metadata.namespace
    for request in world.requests_of(workload):
        if request.metadata.deletion_timestamp or request.metadata.name in kept:
            continue
        for pod_set in request.spec.pod_sets:
            yield Delete(POD_TEMPLATES, f"{namespace}/{pod_set.pod_template_ref.name}")
        yield Delete(PROVISIONING_REQUESTS, request.key)


def _kept(workload: kueue.Workload, world: World) -> Iterator[ProvisioningRequest]:
    """The latest of each check that needs one. Raises: PlacementError."""
    for state, config in managed_checks(workload.status, world):
        if config is not None and is_needed(workload, config):
            request = latest_request(workload, state, config, world)
            if request is not None:
                yield request
