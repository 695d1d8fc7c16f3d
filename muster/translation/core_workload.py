"""Converts Workload objects to the core's values, for all decisions and forecasts."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from msgspec import structs

from muster import admission as core
from muster.admission.quantities import parse
from muster.objects import kueue
from muster.objects.core import RuntimeClass
from muster.objects.derived import Derived
from muster.objects.limits import LimitRange, adjusted, refusal
from muster.objects.meta import Condition, ObjectMeta, find_condition, is_true, millis
from muster.objects.names import (
    ALLOWED_FLAVORS_ANNOTATION,
    BOOST_ANNOTATION,
    POD_GROUP_ANNOTATION,
    REPLACES_ANNOTATION,
)
from muster.objects.pods import read_template
from muster.objects.workload_status import (
    EVICTED,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    holds_quota,
    is_finished,
)
from muster.translation import assignments, recorded_usage
from muster.translation.core_pod_set import pod_set, tolerations
from muster.translation.devices import NO_DEVICES, DeviceRequests

FINISHED_PRIORITY = -(2**31)
"""The priority of a finished gang whose pods still exist: it is preempted first."""
WAITING_FOR_PREEMPTED = "WaitingForPreemptedWorkloads"  # a reason of QuotaReserved=False
UNTRIED = frozenset({WAITING_FOR_PREEMPTED, "PendingEvaluation", "Suspended", "Misconfigured"})
"""Reasons of QuotaReserved=False for workloads that are not parked: they are tried first, or not queued."""

_DECIMAL = re.compile(r"[+-]?[0-9]{1,10}")


def workload(
    obj: kueue.Workload,
    status: kueue.WorkloadStatus,
    queue: str,
    rules: core.Rules = core.Rules(),  # noqa: B008 - a frozen value
    limit_ranges: Iterable[LimitRange] = (),
    runtime_classes: Mapping[str, RuntimeClass] = {},
    priority: int | None = None,
    devices: DeviceRequests = NO_DEVICES,
) -> core.Workload:
    """Converts a Workload. Raises: ValueError.

    `status` may differ from the object's. `queue` is the ClusterQueue of its LocalQueue; a Workload with
    quota stays in the ClusterQueue of its admission. `limit_ranges` are from its namespace,
    `runtime_classes` are by name; their additions to pods are counted, but not written to the object.
    `priority` is the current value of its priority class; None uses the object's priority. `devices` are the
    devices of its pods."""
    meta, reservation = obj.metadata, status.admission if holds_quota(status) else None
    finished, boost = is_finished(status), _boost(obj) if rules.priority_boost else 0
    reserved = find_condition(status.conditions, QUOTA_RESERVED)
    reclaimable = {r.name: r.count for r in status.reclaimable_pods if rules.reclaimable_pods}
    ranges = tuple(limit_ranges)
    pod_sets = obj.spec.pod_sets
    if ranges or runtime_classes:
        pod_sets = tuple(_adjusted(ps, ranges, runtime_classes) for ps in pod_sets)
    return core.Workload(
        key=obj.key,
        uid=meta.uid,
        cluster_queue=reservation.cluster_queue if reservation else queue,
        priority=FINISHED_PRIORITY
        if finished
        else boost + (obj.spec.priority or 0 if priority is None else priority),
        queued_at_ms=queued_at_ms(obj, status, rules),
        pod_sets=tuple(
            _on_provisioned_nodes(
                _with_devices(_pod_set_of(obj.key, ps, reclaimable.get(ps.name, 0)), devices), status
            )
            for ps in pod_sets
        ),
        admission=admission(reservation) if reservation else None,
        counts_from_ms=_counts_from_ms(status, reserved) if reservation else 0,
        reserved_at_ms=millis(reserved.last_transition_time) if reserved and reservation else 0,
        evicted=finished or is_true(status.conditions, EVICTED) or bool(meta.deletion_timestamp),
        requeue_at_ms=requeue_at_ms(status),
        preempting=reserved is not None and reserved.reason == WAITING_FOR_PREEMPTED,
        parked=_is_parked(status),
        run_time_ms=_run_time_ms(obj.spec, status),
        local_queue=f"{meta.namespace}/{obj.spec.queue_name}",
        checks={c.name: core.CheckState(c.state) for c in status.admission_checks},
        unhealthy_nodes=tuple(node.name for node in status.unhealthy_nodes),
        pinned=_is_one_pod(meta),
        replaces=meta.annotations.get(REPLACES_ANNOTATION),
        preemption_gated=_gated(obj.spec, status),
        allowed_flavors=_allowed_flavors(meta.annotations.get(ALLOWED_FLAVORS_ANNOTATION)),
        refused=_refused(pod_sets, ranges) or devices.problem,
    )


def _adjusted(
    pod_set: kueue.PodSet, ranges: tuple[LimitRange, ...], runtime_classes: Mapping[str, RuntimeClass]
) -> kueue.PodSet:
    template = adjusted(pod_set.template, ranges, runtime_classes)
    return pod_set if template is pod_set.template else structs.replace(pod_set, template=template)


def _refused(pod_sets: Iterable[kueue.PodSet], ranges: tuple[LimitRange, ...]) -> str:
    """Returns why the pods would be refused, or ""; the caller must check first that `ranges` can be
    counted."""
    for obj in pod_sets:
        with suppress(core.QuantityError):
            reason = refusal(read_template(obj.template), ranges) if ranges else _own_refusal(obj)
            if reason:
                return f"pod set {obj.name}: {reason}"
    return ""


@Derived
def _own_refusal(pod_set: kueue.PodSet) -> str:
    """Returns why the pods would be refused in any namespace, or "". Raises: QuantityError."""
    return refusal(read_template(pod_set.template), ())


def _run_time_ms(spec: kueue.WorkloadSpec, status: kueue.WorkloadStatus) -> int | None:
    """Returns the remaining part of the maximum execution time after earlier admissions."""
    if not spec.maximum_execution_time_seconds:
        return None
    past_s = status.accumulated_past_execution_time_seconds or 0
    return max(1, spec.maximum_execution_time_seconds - past_s) * 1000


def _counts_from_ms(status: kueue.WorkloadStatus, reserved: Condition | None) -> int:
    """Returns the time from which its usage is not recorded yet; 0 if none is recorded."""
    until_ms = recorded_usage.of_workload(status).until * 1000
    return max(until_ms, millis(reserved.last_transition_time)) if until_ms and reserved else 0


def _is_parked(status: kueue.WorkloadStatus) -> bool:
    """Returns whether an attempt has failed since the workload was queued; the condition that its eviction
    set does not count."""
    reserved, evicted = (find_condition(status.conditions, kind) for kind in (QUOTA_RESERVED, EVICTED))
    if reserved is None or reserved.status != "False" or reserved.reason in UNTRIED:
        return False
    return evicted is None or evicted.message != reserved.message


def queued_at_ms(obj: kueue.Workload, status: kueue.WorkloadStatus, rules: core.Rules) -> int:
    """Returns the time by which the workload is queued (Kueue: pkg/workload,
    Ordering.GetQueueOrderTimestamp).

    An eviction by an admission check moves it to the back of the queue, and so does an eviction with
    PodsReadyTimeout if the rules require it; a preemption does not.
    """
    evicted = find_condition(status.conditions, EVICTED)
    to_back = {"AdmissionCheck"} | ({"PodsReadyTimeout"} if rules.requeue_behind_others else set())
    if evicted is not None and evicted.status == "True" and evicted.reason in to_back:
        return millis(evicted.last_transition_time)
    preempted = find_condition(status.conditions, PREEMPTED)
    if not rules.priority_sorting_within_cohort and _lost_borrowed(preempted):
        return millis(preempted.last_transition_time) + 1 if preempted else 0
    return millis(obj.metadata.creation_timestamp)


def _allowed_flavors(annotation: str | None) -> tuple[str, ...] | None:
    return None if annotation is None else tuple(name.strip() for name in annotation.split(","))


def _lost_borrowed(preempted: Condition | None) -> bool:
    reason = core.PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING
    return preempted is not None and preempted.status == "True" and preempted.reason == reason


def _on_provisioned_nodes(pod_set: core.PodSet, status: kueue.WorkloadStatus) -> core.PodSet:
    """Adds the node selectors and tolerations of ready checks, which select the provisioned nodes."""
    updates = [
        update
        for check in status.admission_checks
        if holds_quota(status) and check.state == core.CheckState.READY
        for update in check.pod_set_updates
        if update.name == pod_set.name
    ]
    selector = dict(pod_set.node_selector)
    all_tolerations = pod_set.tolerations
    for update in updates:
        selector |= update.node_selector
        all_tolerations += tolerations(update.tolerations)
    return replace(pod_set, node_selector=selector, tolerations=all_tolerations) if updates else pod_set


def _is_one_pod(meta: ObjectMeta) -> bool:
    """Returns whether the owner is a single Pod (Kueue: OwnedBySinglePod in pkg/workload)."""
    owners = [(owner.api_version, owner.kind) for owner in meta.owner_references]
    return owners == [("v1", "Pod")] and meta.annotations.get(POD_GROUP_ANNOTATION) != "true"


def requeue_at_ms(status: kueue.WorkloadStatus) -> int | None:
    """Returns the end of the backoff; NEVER_MS if the workload is not requeued; None without backoff."""
    state = status.requeue_state
    if state is not None and state.requeue_at:
        return millis(state.requeue_at)
    requeued = find_condition(status.conditions, REQUEUED)
    return core.NEVER_MS if requeued is not None and requeued.status == "False" else None


def _boost(obj: kueue.Workload) -> int:
    """Returns the priority boost; 0 if the annotation is not a 32-bit number (Kueue: EffectivePriority,
    pkg/util/priority)."""
    text = obj.metadata.annotations.get(BOOST_ANNOTATION, "")
    boost = int(text) if _DECIMAL.fullmatch(text) else 0
    return boost if -(2**31) <= boost < 2**31 else 0


def _gated(spec: kueue.WorkloadSpec, status: kueue.WorkloadStatus) -> bool:
    """Returns whether a preemption gate is closed, or has no status yet."""
    opened = {g.name for g in status.preemption_gates if g.position != "Closed"}
    return any(gate.name not in opened for gate in spec.preemption_gates)


def _pod_set_of(workload: str, obj: kueue.PodSet, reclaimable: int) -> core.PodSet:
    try:
        return pod_set(obj, min(obj.count, reclaimable))
    except core.QuantityError as error:
        field = f"requests of pod set {obj.name}"
        raise core.SnapshotError(f"Workload {workload}", field, str(error)) from error


def _with_devices(pod_set: core.PodSet, devices: DeviceRequests) -> core.PodSet:
    counted = devices.counted(pod_set.name, pod_set.requests)
    if counted is pod_set.requests:
        return pod_set
    return replace(pod_set, requests=counted, node_requests=pod_set.requests)


def _admission(obj: kueue.Admission) -> core.Admission:
    return core.Admission(
        cluster_queue=obj.cluster_queue,
        pod_sets=tuple(
            core.PodSetAssignment(
                name=a.name,
                count=a.count or 0,
                flavors=a.flavors,
                usage={r: parse(r, q) for r, q in a.resource_usage.items()},
                topology=assignments.expanded(a.topology_assignment) if a.topology_assignment else None,
                topology_delayed=a.delayed_topology_request is not None,
            )
            for a in obj.pod_set_assignments
        ),
    )


admission = Derived(_admission)
"""Converts an admission. Raises: ValueError."""
