"""Sets the states of provisioning checks according to their ProvisioningRequests.

Source: Kueue pkg/controller/admissionchecks/provisioning at v0.19.2 (states, messages).
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from muster.admission.lifecycle import Backoff
from muster.cluster import provisioning_timeouts
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.templates import PlacementError
from muster.cluster.managed_checks import managed_checks
from muster.controller.provisioning.check_requests import (
    attempt_of,
    groups_of,
    is_needed,
    latest_request,
    template_name,
)
from muster.objects import kueue, workload_status
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.kueue import AdmissionCheckState, WorkloadStatus
from muster.objects.kueue_checks import PENDING, READY, REJECTED, RETRY, ProvisioningRequestConfig, set_check
from muster.objects.meta import find_condition, millis
from muster.objects.names import CLASS_ANNOTATION, CONSUME_ANNOTATION

INACTIVE = "the check is not active"
NOT_NEEDED = "the provisioning request is not needed"
NOT_CREATED = "Error creating"  # prefix of a check's message while the API server refuses its request

Changes = Mapping[str, Any]  # new values of a check's fields


def sync_checks(
    workload: kueue.Workload, status: WorkloadStatus, cluster: ClusterState, now_ms: int
) -> WorkloadStatus:
    """Sets each check to the state of its latest request."""
    for state, config in managed_checks(status, cluster):
        with suppress(PlacementError):  # job_writes() handles it by deactivating the Workload
            changes = _state_changes(workload, status, state, config, cluster, now_ms)
            status = set_check(status, state.name, now_ms, **changes) if changes else status
    return status


def timeout_ms(workload: kueue.Workload, status: WorkloadStatus, cluster: ClusterState) -> int | None:
    """Returns the time of the earliest timeout of the Workload's requests, including requests not yet
    created."""
    due = []
    for state, config in managed_checks(status, cluster):
        request = latest_request(workload, state, config, cluster) if config is not None else None
        if config is not None and request is not None and state.state == PENDING:
            due.append(provisioning_timeouts.due_ms(request, config, millis(state.last_transition_time)))
        elif config is not None:
            due.append(_creation_due_ms(status, state, config))
    return min((at_ms for at_ms in due if at_ms is not None), default=None)


def _state_changes(
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
        return _changes_by_request(workload, status, state, config, request, now_ms)
    if state.state == READY and _is_without_pods(workload, cluster):
        return _retry(state, config, state.retry_count + 1, "deletion", "the ProvisioningRequest was deleted")
    due_ms = _creation_due_ms(status, state, config)
    if due_ms is None or now_ms < due_ms:
        return {}
    return _retry(state, config, state.retry_count + 1, provisioning_timeouts.TIMED_OUT, state.message)


def _is_without_pods(workload: kueue.Workload, cluster: ClusterState) -> bool:
    """Returns whether no pods keep the Workload's nodes, as before its start or after a user suspended its
    job.

    Kueue does not check that, and starts pods on nodes that were removed with their request. Pods of
    Workloads without a job are not visible here."""
    return cluster.job_of(workload) is not None and not cluster.live_pods_of(workload)


def _creation_due_ms(
    status: WorkloadStatus, state: AdmissionCheckState, config: ProvisioningRequestConfig
) -> int | None:
    """Returns the time at which a request that the API server refuses counts as not accepted; None if it is
    not refused."""
    reserved = find_condition(status.conditions, workload_status.QUOTA_RESERVED)
    if state.state != PENDING or not state.message.startswith(NOT_CREATED) or reserved is None:
        return None
    since_ms = max(millis(state.last_transition_time), millis(reserved.last_transition_time))
    return since_ms + provisioning_timeouts.answer_s(config) * 1000


def _changes_by_request(
    workload: kueue.Workload,
    status: WorkloadStatus,
    state: AdmissionCheckState,
    config: ProvisioningRequestConfig,
    request: ProvisioningRequest,
    now_ms: int,
) -> Changes:
    attempt = attempt_of(request, workload.metadata.name, state) or 1
    conditions = {c.type: c for c in request.status.conditions}
    true = {kind for kind, condition in conditions.items() if condition.status == "True"}
    if "Failed" in true:
        return _retry(state, config, attempt, "failure", conditions["Failed"].message)
    if "CapacityRevoked" in true:
        rejected = {"state": REJECTED, "message": conditions["CapacityRevoked"].message}
        return rejected if workload.spec.active else {}
    if "BookingExpired" in true:
        message = conditions["BookingExpired"].message
        retried = _retry(state, config, attempt, "booking expired", message)
        return {} if workload_status.is_admitted(status) else retried
    if "Provisioned" in true:
        if state.state == READY:
            return {}
        updates = _pod_set_updates(workload, config, request)
        return {"state": READY, "message": conditions["Provisioned"].message, "pod_set_updates": updates}
    due_ms = provisioning_timeouts.due_ms(request, config, millis(state.last_transition_time))
    if due_ms is not None and due_ms <= now_ms and state.state != READY:
        return _retry(
            state,
            config,
            attempt,
            provisioning_timeouts.TIMED_OUT,
            provisioning_timeouts.reason(request, config),
        )
    if "Accepted" in true:
        provisioned = find_condition(
            request.status.conditions, "Provisioned"
        )  # its message has the expected time
        return {"state": PENDING, "message": provisioned.message} if provisioned else {}
    return {"state": PENDING, "message": ""}


def _retry(
    state: AdmissionCheckState, config: ProvisioningRequestConfig, attempt: int, after: str, message: str
) -> Changes:
    """Retries with exponential back-off, or rejects the check once the retries are used up. A request of an
    earlier attempt only changes the message."""
    strategy = config.spec.retry_strategy
    if attempt > strategy.backoff_limit_count:
        return {"state": REJECTED, "message": message}
    retrying = {"message": f"Retrying after {after}: {message}"}
    if attempt <= state.retry_count:
        return retrying
    backoff = Backoff(strategy.backoff_base_seconds, strategy.backoff_max_seconds)
    wait_s = backoff.wait_s(state.retry_count + 1)
    return {**retrying, "state": RETRY, "requeue_after_seconds": wait_s}


def _pod_set_updates(
    workload: kueue.Workload, config: ProvisioningRequestConfig, request: ProvisioningRequest
) -> tuple[kueue.PodSetUpdate, ...]:
    """Returns the updates of all pod sets in the request, including pod sets that use the template of
    another: Kueue omits these, so their pods would not be scheduled on the nodes provisioned for them."""
    templates = {ps.pod_template_ref.name for ps in request.spec.pod_sets}
    return tuple(
        pod_set_update(ps.name, config, request)
        for group in groups_of(workload, config)
        if template_name(request.metadata.name, group.first.name) in templates
        for ps in group.pod_sets
    )


def pod_set_update(
    pod_set: str, config: ProvisioningRequestConfig, request: ProvisioningRequest
) -> kueue.PodSetUpdate:
    """Returns the annotations and node selectors by which pods use the nodes of a request."""
    details = request.status.provisioning_class_details
    updates = config.spec.pod_set_updates.node_selector if config.spec.pod_set_updates else ()
    selector = {
        u.key: details[u.value_from_provisioning_class_detail]
        for u in updates
        if u.value_from_provisioning_class_detail in details
    }
    annotations = {
        CONSUME_ANNOTATION: request.metadata.name,
        CLASS_ANNOTATION: request.spec.provisioning_class_name,
    }
    return kueue.PodSetUpdate(name=pod_set, annotations=annotations, node_selector=selector)
