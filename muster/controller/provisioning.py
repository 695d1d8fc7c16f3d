"""Capacity for a whole gang in one step: ProvisioningRequests, and what they say of the check.

Source: Kueue pkg/controller/admissionchecks/provisioning at v0.19.2 (names, attempts, states).
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from muster.controller import transitions as step
from muster.controller.templates import admitted_templates, merged_template
from muster.controller.world import World
from muster.kube.kinds import POD_TEMPLATES, PROVISIONING_REQUESTS
from muster.kube.writes import Create, Delete, Write
from muster.objects import kueue
from muster.objects.autoscaling import CLASS_ANNOTATION, CONSUME_ANNOTATION, ProvisioningRequest
from muster.objects.kueue import AdmissionCheckState, ProvisioningRequestConfig, WorkloadStatus
from muster.objects.meta import find_condition, is_true
from muster.objects.pods import container_requests, read_template

NAME_PREFIX_LENGTH_MAX = 247
HASH_LENGTH = 5


def _limited(name: str) -> str:
    """A name that is too long is cut and made its own again by five characters of its hash."""
    if len(name) <= NAME_PREFIX_LENGTH_MAX:
        return name
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    return f"{name[:NAME_PREFIX_LENGTH_MAX]}-{digest[:HASH_LENGTH]}"


def request_name(workload: str, check: str, attempt: int) -> str:
    return _limited(f"{workload}-{check}-{attempt}")


def template_name(request: str, pod_set: str) -> str:
    return _limited(f"ppt-{request}-{pod_set}")


def managed_checks(
    status: WorkloadStatus, world: World
) -> Iterator[tuple[AdmissionCheckState, ProvisioningRequestConfig | None]]:
    """The workload's checks that are answered by provisioning; None where the config is missing."""
    for state in status.admission_checks:
        check = world.checks.get(state.name)
        if check is not None and check.spec.controller_name == kueue.PROVISIONING_CONTROLLER:
            name = check.spec.parameters.name if check.spec.parameters else ""
            yield state, world.provisioning_configs.get(name)


def pod_sets_to_provision(workload: kueue.Workload, config: ProvisioningRequestConfig) -> list[kueue.PodSet]:
    managed = set(config.spec.managed_resources)
    return [
        ps for ps in workload.spec.pod_sets if ps.count > 0 and (not managed or managed & _resources_of(ps))
    ]


def _resources_of(pod_set: kueue.PodSet) -> set[str]:
    spec = read_template(pod_set.template).spec
    return {r for c in (*spec.init_containers, *spec.containers) for r in container_requests(c)}


def sync_checks(
    workload: kueue.Workload, status: WorkloadStatus, world: World, now_ms: int
) -> WorkloadStatus:
    """Bring each check to what its latest request says."""
    for state, config in managed_checks(status, world):
        if config is None:
            text = "the AdmissionCheck has no ProvisioningRequestConfig: name one in spec.parameters"
            status = step.set_check(status, state.name, now_ms, message=text)
        elif not pod_sets_to_provision(workload, config):
            text = "no pod set asks for what the check provisions"
            status = step.set_check(status, state.name, now_ms, state=step.READY, message=text)
        else:
            request = current_request(workload, state, world)
            if request is not None:
                status = _follow(workload, status, state, config, request, now_ms)
    return status


def current_request(
    workload: kueue.Workload, state: AdmissionCheckState, world: World
) -> ProvisioningRequest | None:
    """The request of this try; those of earlier tries have no say any more, nor has one that leaves."""
    name = request_name(workload.metadata.name, state.name, state.retry_count + 1)
    asked = (r for r in world.requests_of(workload) if r.metadata.name == name)
    return next((r for r in asked if not r.metadata.deletion_timestamp), None)


def _follow(
    workload: kueue.Workload,
    status: WorkloadStatus,
    state: AdmissionCheckState,
    config: ProvisioningRequestConfig,
    request: ProvisioningRequest,
    now_ms: int,
) -> WorkloadStatus:
    conditions = request.status.conditions

    def message(kind: str) -> str:
        found = find_condition(conditions, kind)
        return found.message if found else ""

    failed = "Failed" if is_true(conditions, "Failed") else "BookingExpired"
    if is_true(conditions, failed) and not (failed == "BookingExpired" and step.is_admitted(status)):
        return _try_again(status, state, config, message(failed), now_ms)
    if is_true(conditions, "CapacityRevoked"):
        text = message("CapacityRevoked")
        return step.set_check(status, state.name, now_ms, state=step.REJECTED, message=text)
    if is_true(conditions, "Provisioned"):
        return step.set_check(
            status,
            state.name,
            now_ms,
            state=step.READY,
            message=message("Provisioned"),
            pod_set_updates=_pod_set_updates(workload, config, request),
        )
    waiting = message("Provisioned") or message("Accepted")
    return step.set_check(status, state.name, now_ms, state=step.PENDING, message=waiting)


def _try_again(
    status: WorkloadStatus,
    state: AdmissionCheckState,
    config: ProvisioningRequestConfig,
    message: str,
    now_ms: int,
) -> WorkloadStatus:
    """Retry with doubling waits, or Rejected when the tries are used up."""
    strategy = config.spec.retry_strategy
    tried = state.retry_count + 1
    if tried > strategy.backoff_limit_count:
        return step.set_check(status, state.name, now_ms, state=step.REJECTED, message=message)
    wait_s = min(strategy.backoff_base_seconds * 2 ** (tried - 1), strategy.backoff_max_seconds)
    return step.set_check(
        status,
        state.name,
        now_ms,
        state=step.RETRY,
        retry_count=tried,
        requeue_after_seconds=wait_s,
        message=f"Retrying after failure: {message}",
    )


def _pod_set_updates(
    workload: kueue.Workload, config: ProvisioningRequestConfig, request: ProvisioningRequest
) -> tuple[kueue.PodSetUpdate, ...]:
    details = request.status.provisioning_class_details
    wanted = config.spec.pod_set_updates.node_selector if config.spec.pod_set_updates else ()
    selector = {
        u.key: details[u.value_from_provisioning_class_detail]
        for u in wanted
        if u.value_from_provisioning_class_detail in details
    }
    annotations = {
        CONSUME_ANNOTATION: request.metadata.name,
        CLASS_ANNOTATION: request.spec.provisioning_class_name,
    }
    served = {ps.pod_template_ref.name for ps in request.spec.pod_sets}
    return tuple(
        kueue.PodSetUpdate(name=ps.name, annotations=annotations, node_selector=selector)
        for ps in workload.spec.pod_sets
        if template_name(request.metadata.name, ps.name) in served
    )


def missing_requests(workload: kueue.Workload, world: World) -> Iterator[tuple[list[Write], Create]]:
    """(pod templates, the request that refers to them) for each check that has none for this try.

    Raises: PlacementError when the templates can't carry the admission's placement."""
    for state, config in managed_checks(workload.status, world):
        if config is None or state.state != step.PENDING or current_request(workload, state, world):
            continue
        pod_sets = pod_sets_to_provision(workload, config)
        if pod_sets:
            name = request_name(workload.metadata.name, state.name, state.retry_count + 1)
            yield _templates(workload, world, name, pod_sets), _request(workload, config, name, pod_sets)


def _templates(
    workload: kueue.Workload, world: World, request: str, pod_sets: list[kueue.PodSet]
) -> list[Write]:
    targets = admitted_templates(workload, world.flavors, with_checks=False)
    return [
        Create(
            POD_TEMPLATES,
            {
                "metadata": _metadata(workload, template_name(request, ps.name)),
                "template": merged_template(ps.template, targets[ps.name]),
            },
            exists_ok=True,
        )
        for ps in pod_sets
    ]


def _request(
    workload: kueue.Workload, config: ProvisioningRequestConfig, name: str, pod_sets: list[kueue.PodSet]
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
                {"podTemplateRef": {"name": template_name(name, ps.name)}, "count": ps.count}
                for ps in pod_sets
            ],
        },
    }
    return Create(PROVISIONING_REQUESTS, body)


def _metadata(workload: kueue.Workload, name: str) -> dict[str, Any]:
    owner = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "name": workload.metadata.name,
        "uid": workload.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "name": name,
        "namespace": workload.metadata.namespace,
        "labels": {kueue.MANAGED_LABEL: "true"},
        "ownerReferences": [owner],
    }


def unused_requests(workload: kueue.Workload, world: World) -> Iterator[Write]:
    """Requests that nothing runs on any more, and their pod templates."""
    namespace = workload.metadata.namespace
    for request in world.requests_of(workload):
        if request.metadata.deletion_timestamp:
            continue
        for pod_set in request.spec.pod_sets:
            yield Delete(POD_TEMPLATES, f"{namespace}/{pod_set.pod_template_ref.name}")
        yield Delete(PROVISIONING_REQUESTS, request.key)
