"""From Workload objects to the core's gangs: one builder for whoever decides or forecasts."""

from collections.abc import Iterable, Mapping
from typing import Any

from muster import admission as core
from muster.admission.quantities import parse
from muster.objects import kueue, topology
from muster.objects.meta import Condition, find_condition, is_true, millis
from muster.objects.pods import PodTemplate, pod_requests, read_template

QUOTA_RESERVED, EVICTED, PREEMPTED = "QuotaReserved", "Evicted", "Preempted"
WAITING_FOR_PREEMPTED = "WaitingForPreemptedWorkloads"  # a reason of QuotaReserved=False
REPLACES_ANNOTATION = "kueue.x-k8s.io/workload-slice-replacement-for"
ALLOWED_FLAVOR_ANNOTATION = "kueue.x-k8s.io/workload-allowed-resource-flavors"
BOOST_ANNOTATION = "kueue.x-k8s.io/priority-boost"


def workload(
    obj: kueue.Workload,
    status: kueue.WorkloadStatus,
    queue: str,
    rules: core.Rules = core.Rules(),  # noqa: B008 - a frozen value
) -> core.Workload:
    """`status` is what the object is to be taken for, if that is not what it says itself; `queue` the
    ClusterQueue of its LocalQueue, while it holds no quota of another one. Raises: ValueError."""
    meta, held = obj.metadata, status.admission if holds_quota(status) else None
    reserved = find_condition(status.conditions, QUOTA_RESERVED)
    reclaimable = {r.name: r.count for r in status.reclaimable_pods}
    return core.Workload(
        key=obj.key,
        uid=meta.uid,
        cluster_queue=held.cluster_queue if held else queue,
        priority=obj.spec.priority or 0,
        queued_at_ms=queued_at_ms(obj, status, rules),
        pod_sets=tuple(pod_set(ps, reclaimable.get(ps.name, 0)) for ps in obj.spec.pod_sets),
        admission=admission(held) if held else None,
        reserved_at_ms=millis(reserved.last_transition_time) if reserved and held else 0,
        evicted=is_true(status.conditions, EVICTED) or bool(meta.deletion_timestamp),
        requeue_at_ms=requeue_at_ms(status),
        preempting=reserved is not None and reserved.reason == WAITING_FOR_PREEMPTED,
        local_queue=f"{meta.namespace}/{obj.spec.queue_name}",
        checks={c.name: core.CheckState(c.state) for c in status.admission_checks},
        unhealthy_nodes=tuple(node.name for node in status.unhealthy_nodes),
        replaces=meta.annotations.get(REPLACES_ANNOTATION),
        preemption_gated=_gated(obj.spec, status),
        allowed_flavor=meta.annotations.get(ALLOWED_FLAVOR_ANNOTATION),
    )


def holds_quota(status: kueue.WorkloadStatus) -> bool:
    return is_true(status.conditions, QUOTA_RESERVED) and status.admission is not None


def queued_at_ms(obj: kueue.Workload, status: kueue.WorkloadStatus, rules: core.Rules) -> int:
    """Since when it stands in the queue (Kueue: pkg/workload, Ordering.GetQueueOrderTimestamp).

    An eviction by an admission check sends it to the back, one for pods that were not ready in time
    does where the rules say so, a preemption does not.
    """
    evicted = find_condition(status.conditions, EVICTED)
    back = {"AdmissionCheck"} | ({"PodsReadyTimeout"} if rules.requeue_behind_others else set())
    if evicted is not None and evicted.status == "True" and evicted.reason in back:
        return millis(evicted.last_transition_time)
    preempted = find_condition(status.conditions, PREEMPTED)
    if not rules.priority_sorting_within_cohort and _lost_borrowed(preempted):
        return millis(preempted.last_transition_time) + 1 if preempted else 0
    return millis(obj.metadata.creation_timestamp)


def _lost_borrowed(preempted: Condition | None) -> bool:
    reason = core.PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING
    return preempted is not None and preempted.status == "True" and preempted.reason == reason


def requeue_at_ms(status: kueue.WorkloadStatus) -> int | None:
    state = status.requeue_state
    return millis(state.requeue_at) if state is not None and state.requeue_at else None


def _gated(spec: kueue.WorkloadSpec, status: kueue.WorkloadStatus) -> bool:
    """A gate that the status does not tell of is closed."""
    opened = {g.name for g in status.preemption_gates if g.position != "Closed"}
    return any(gate.name not in opened for gate in spec.preemption_gates)


def pod_set(obj: kueue.PodSet, reclaimable: int = 0) -> core.PodSet:
    """Raises: ValueError (QuantityError for a request) naming what can't be read."""
    template = read_template(obj.template)
    return core.PodSet(
        name=obj.name,
        count=obj.count,
        requests=pod_requests(obj.template),
        node_selector=template.spec.node_selector,
        affinity=_affinity(template),
        affinity_preferred=_preferred(template),
        tolerations=tolerations(template.spec.tolerations),
        count_min=obj.min_count,
        reclaimable=reclaimable,
        topology=topology.request(obj.topology_request),
    )


def admission(obj: kueue.Admission) -> core.Admission:
    return core.Admission(
        cluster_queue=obj.cluster_queue,
        pod_sets=tuple(
            core.PodSetAssignment(
                name=a.name,
                count=a.count or 0,
                flavors=a.flavors,
                usage={r: parse(r, q) for r, q in a.resource_usage.items()},
                topology=topology.assignment(a.topology_assignment) if a.topology_assignment else None,
                topology_delayed=a.delayed_topology_request is not None,
            )
            for a in obj.pod_set_assignments
        ),
    )


def tolerations(raw: Iterable[Mapping[str, Any]]) -> tuple[core.Toleration, ...]:
    return tuple(
        core.Toleration(
            key=t.get("key", ""),
            operator=t.get("operator") or "Equal",
            value=t.get("value", ""),
            effect=core.TaintEffect(t["effect"]) if t.get("effect") else None,
        )
        for t in raw
    )


def _affinity(template: PodTemplate) -> tuple[tuple[core.Requirement, ...], ...]:
    node = template.spec.affinity.get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return tuple(_requirements(term) for term in required.get("nodeSelectorTerms") or ())


def _preferred(template: PodTemplate) -> tuple[core.PreferredTerm, ...]:
    node = template.spec.affinity.get("nodeAffinity") or {}
    return tuple(
        core.PreferredTerm(term["weight"], _requirements(term.get("preference") or {}))
        for term in node.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    )


def _requirements(term: Mapping[str, Any]) -> tuple[core.Requirement, ...]:
    return tuple(
        core.Requirement(e["key"], e["operator"], tuple(e.get("values") or ()))
        for e in term.get("matchExpressions") or ()
    )
