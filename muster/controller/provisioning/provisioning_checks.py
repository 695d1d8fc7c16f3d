"""Admission checks answered by ProvisioningRequests, which provide capacity for a whole gang at once.

Source: Kueue pkg/controller/admissionchecks/provisioning at v0.19.2 (names, attempts, states, messages).
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from muster.admission.lifecycle import Backoff
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.jobs.templates import PlacementError, assignment_of
from muster.controller.provisioning import provisioning_timeouts
from muster.controller.provisioning.pod_set_groups import Group, grouped
from muster.controller.workload.check_states import PENDING, READY, REJECTED, RETRY, set_check
from muster.objects import kueue, workload_status
from muster.objects.autoscaling import CLASS_ANNOTATION, CONSUME_ANNOTATION, ProvisioningRequest
from muster.objects.kueue import AdmissionCheckState, PodSet, ProvisioningRequestConfig, WorkloadStatus
from muster.objects.meta import find_condition, is_true, millis
from muster.objects.pods import read_template

NAME_PREFIX_LENGTH_MAX = 247
HASH_LENGTH = 5

INACTIVE = "the check is not active"
NOT_NEEDED = "the provisioning request is not needed"
NOT_CREATED = "Error creating"  # prefix of a check's message while its request is refused

Changes = Mapping[str, Any]  # of a check's state, by field


def _limited(name: str) -> str:
    """Cuts a name that is too long, and appends five characters of its hash to keep it unique."""
    if len(name) <= NAME_PREFIX_LENGTH_MAX:
        return name
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    return f"{name[:NAME_PREFIX_LENGTH_MAX]}-{digest[:HASH_LENGTH]}"


def request_name(workload: str, check: str, attempt: int) -> str:
    return _limited(f"{workload}-{check}-{attempt}")


def template_name(request: str, pod_set: str) -> str:
    return _limited(f"ppt-{request}-{pod_set}")


def attempt_of(request: ProvisioningRequest, workload: str, state: AdmissionCheckState) -> int | None:
    """Returns the attempt of this check that the request is for; None if it is for none. (For a name that was
    cut only the current attempt can be told, as the hash replaced its number.)"""
    name, due = request.metadata.name, state.retry_count + 1
    if name == request_name(workload, state.name, due):
        return due
    prefix = f"{workload}-{state.name}-"
    number = name.removeprefix(prefix)
    return int(number) if number != name and number.isascii() and number.isdecimal() else None


def managed_checks(
    status: WorkloadStatus, cluster: ClusterState
) -> Iterator[tuple[AdmissionCheckState, ProvisioningRequestConfig | None]]:
    """Yields the workload's checks for provisioning, each with its config, None if that is missing."""
    for state in status.admission_checks:
        check = cluster.checks.get(state.name)
        if check is not None and check.spec.controller_name == kueue.PROVISIONING_CONTROLLER:
            name = check.spec.parameters.name if check.spec.parameters else ""
            yield state, cluster.provisioning_configs.get(name)


def pod_sets_managed(workload: kueue.Workload, config: ProvisioningRequestConfig) -> Iterator[PodSet]:
    """Yields pod sets with pods that request a managed resource; all pod sets if none is named."""
    managed = set(config.spec.managed_resources)
    for pod_set in workload.spec.pod_sets:
        if pod_set.count > 0 and (not managed or managed & _resources_of(pod_set)):
            yield pod_set


def _resources_of(pod_set: PodSet) -> set[str]:
    spec = read_template(pod_set.template).spec
    needs = (c.resources for c in (*spec.init_containers, *spec.containers))
    return {resource for need in needs for resource in (*need.requests, *need.limits)}


def admitted_count(workload: kueue.Workload, pod_set: PodSet) -> int:
    """Returns the pods that are admitted. Raises: PlacementError if the admission has no such pod set."""
    count = assignment_of(workload, pod_set).count
    return pod_set.count if count is None else count


def is_needed(workload: kueue.Workload, config: ProvisioningRequestConfig) -> bool:
    """Whether any admitted pod waits for the check's capacity. Raises: PlacementError."""
    return any(admitted_count(workload, ps) > 0 for ps in pod_sets_managed(workload, config))


def groups_of(workload: kueue.Workload, config: ProvisioningRequestConfig) -> list[Group]:
    """Returns the groups to request, merging pod sets with equal pods. Raises: PlacementError."""
    managed = list(pod_sets_managed(workload, config))
    counts = {ps.name: admitted_count(workload, ps) for ps in managed}
    return grouped(counts, [ps for ps in managed if counts[ps.name] > 0], config.spec.pod_set_merge_policy)


def latest_request(
    workload: kueue.Workload,
    state: AdmissionCheckState,
    config: ProvisioningRequestConfig,
    cluster: ClusterState,
) -> ProvisioningRequest | None:
    """Returns the request of the check's last attempt; ignores requests that differ from the current config
    and those that are being deleted."""
    asked = (r for r in cluster.requests_of(workload) if not r.metadata.deletion_timestamp)
    tries = ((attempt_of(r, workload.metadata.name, state), r) for r in asked if _asks_for(r, config))
    numbered = [(attempt, request) for attempt, request in tries if attempt is not None]
    return max(numbered, key=lambda pair: pair[0])[1] if numbered else None


def _asks_for(request: ProvisioningRequest, config: ProvisioningRequestConfig) -> bool:
    same_class = request.spec.provisioning_class_name == config.spec.provisioning_class_name
    return same_class and config.spec.parameters.items() <= request.spec.parameters.items()


def has_failed(request: ProvisioningRequest, status: WorkloadStatus) -> bool:
    """Whether it has to be replaced; the booking of an admitted workload may expire."""
    said = request.status.conditions
    return is_true(said, "Failed") or (
        is_true(said, "BookingExpired") and not workload_status.is_admitted(status)
    )


def sync_checks(
    workload: kueue.Workload, status: WorkloadStatus, cluster: ClusterState, now_ms: int
) -> WorkloadStatus:
    """Sets each check to the state of its latest request."""
    for state, config in managed_checks(status, cluster):
        with suppress(PlacementError):  # job_writes() sees it too, and deactivates the Workload
            changes = _answer(workload, status, state, config, cluster, now_ms)
            status = set_check(status, state.name, now_ms, **changes) if changes else status
    return status


def timeout_ms(workload: kueue.Workload, status: WorkloadStatus, cluster: ClusterState) -> int | None:
    """Returns when the first request that it waits for times out, whether it exists yet or not."""
    due = []
    for state, config in managed_checks(status, cluster):
        request = latest_request(workload, state, config, cluster) if config is not None else None
        if config is not None and request is not None and state.state == PENDING:
            due.append(provisioning_timeouts.due_ms(request, config, millis(state.last_transition_time)))
        elif config is not None:
            due.append(_creation_due_ms(status, state, config))
    return min((at_ms for at_ms in due if at_ms is not None), default=None)


def _answer(
    workload: kueue.Workload,
    status: WorkloadStatus,
    state: AdmissionCheckState,
    config: ProvisioningRequestConfig | None,
    cluster: ClusterState,
    now_ms: int,
) -> Changes:
    if config is None:
        return {"state": PENDING, "message": INACTIVE}
    if not is_needed(workload, config):
        ready = {"state": READY, "message": NOT_NEEDED, "pod_set_updates": ()}
        return {} if state.state == READY else ready
    request = latest_request(workload, state, config, cluster)
    if request is not None:
        return _follow(workload, status, state, config, request, now_ms)
    due_ms = _creation_due_ms(status, state, config)
    if due_ms is None or now_ms < due_ms:
        return {}
    return _try_again(state, config, state.retry_count + 1, provisioning_timeouts.TIMED_OUT, state.message)


def _creation_due_ms(
    status: WorkloadStatus, state: AdmissionCheckState, config: ProvisioningRequestConfig
) -> int | None:
    """Returns when a request that the API server refuses to create counts as not accepted."""
    reserved = find_condition(status.conditions, workload_status.QUOTA_RESERVED)
    if state.state != PENDING or not state.message.startswith(NOT_CREATED) or reserved is None:
        return None
    since_ms = max(millis(state.last_transition_time), millis(reserved.last_transition_time))
    return since_ms + provisioning_timeouts.answer_s(config) * 1000


def _follow(
    workload: kueue.Workload,
    status: WorkloadStatus,
    state: AdmissionCheckState,
    config: ProvisioningRequestConfig,
    request: ProvisioningRequest,
    now_ms: int,
) -> Changes:
    attempt = attempt_of(request, workload.metadata.name, state) or 1
    said = {c.type: c for c in request.status.conditions}
    true = {kind for kind, condition in said.items() if condition.status == "True"}
    if "Failed" in true:
        return _try_again(state, config, attempt, "failure", said["Failed"].message)
    if "CapacityRevoked" in true:
        rejected = {"state": REJECTED, "message": said["CapacityRevoked"].message}
        return rejected if workload.spec.active else {}
    if "BookingExpired" in true:
        message = said["BookingExpired"].message
        retried = _try_again(state, config, attempt, "booking expired", message)
        return {} if workload_status.is_admitted(status) else retried
    if "Provisioned" in true:
        if state.state == READY:
            return {}
        updates = _pod_set_updates(workload, config, request)
        return {"state": READY, "message": said["Provisioned"].message, "pod_set_updates": updates}
    due_ms = provisioning_timeouts.due_ms(request, config, millis(state.last_transition_time))
    if due_ms is not None and due_ms <= now_ms and state.state != READY:
        return _try_again(
            state,
            config,
            attempt,
            provisioning_timeouts.TIMED_OUT,
            provisioning_timeouts.reason(request, config),
        )
    if "Accepted" in true:
        told = find_condition(request.status.conditions, "Provisioned")  # with the expected time
        return {"state": PENDING, "message": told.message} if told else {}
    return {"state": PENDING, "message": ""}


def _try_again(
    state: AdmissionCheckState, config: ProvisioningRequestConfig, attempt: int, after: str, message: str
) -> Changes:
    """Retries with doubling waits, or rejects once the retries are used up; a request of an earlier attempt
    only changes the message."""
    strategy = config.spec.retry_strategy
    if attempt > strategy.backoff_limit_count:
        return {"state": REJECTED, "message": message}
    told = {"message": f"Retrying after {after}: {message}"}
    if attempt <= state.retry_count:
        return told
    backoff = Backoff(strategy.backoff_base_seconds, strategy.backoff_max_seconds)
    wait_s = backoff.wait_s(state.retry_count + 1)
    return {**told, "state": RETRY, "requeue_after_seconds": wait_s}


def _pod_set_updates(
    workload: kueue.Workload, config: ProvisioningRequestConfig, request: ProvisioningRequest
) -> tuple[kueue.PodSetUpdate, ...]:
    """Returns the updates of each pod set in the request, including those merged into another one's template:
    Kueue leaves these out, and their pods would not reach the nodes provisioned for them."""
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
        for group in groups_of(workload, config)
        if template_name(request.metadata.name, group.first.name) in served
        for ps in group.pod_sets
    )
