"""Small snapshots in few words, and what a controller would do with a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from muster.admission import (
    HOSTNAME,
    Admission,
    ClusterQueue,
    Cohort,
    Flavor,
    FlavorQuotas,
    FlavorResource,
    Node,
    Plan,
    PodSet,
    PodSetAssignment,
    Quota,
    ResourceGroup,
    Snapshot,
    Taint,
    TaintEffect,
    Toleration,
    Topology,
    TopologyAssignment,
    TopologyDomain,
    WaitReason,
    Workload,
)
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState

GPU = "nvidia.com/gpu"
NOW_MS = 1_000_000
UNTRIED = (WaitReason.PREEMPTION, WaitReason.BACKOFF, WaitReason.QUEUE_STOPPED, WaitReason.QUEUE_INACTIVE)
RACKS = Topology("racks", ("rack", HOSTNAME))

Quotas = Mapping[str, Mapping[str, int | Quota]]  # by flavor and resource, in the flavors' order


def fr(flavor: str, resource: str = GPU) -> FlavorResource:
    return FlavorResource(flavor, resource)


def taint(key: str, value: str = "", effect: TaintEffect = TaintEffect.NO_SCHEDULE) -> Taint:
    return Taint(key, value, effect)


def tolerate(
    key: str, value: str = "", operator: str = "Equal", effect: TaintEffect | None = None
) -> Toleration:
    return Toleration(key, operator, value, effect)


def group(quotas: Quotas) -> ResourceGroup:
    covered = tuple(next(iter(quotas.values())))
    return ResourceGroup(covered, tuple(FlavorQuotas(name, _quotas(of)) for name, of in quotas.items()))


def _quotas(of: Mapping[str, int | Quota]) -> dict[str, Quota]:
    return {name: quota if isinstance(quota, Quota) else Quota(quota) for name, quota in of.items()}


def cohort(name: str, parent: str | None = None, *quotas: Quotas) -> Cohort:
    return Cohort(name, parent, tuple(map(group, quotas)))


def queue(name: str = "q", *quotas: Quotas | int | Quota, **fields: Any) -> ClusterQueue:
    """A number or a Quota means this many GPUs of flavor l4."""
    groups = (quota if isinstance(quota, Mapping) else {"l4": {GPU: quota}} for quota in quotas)
    return ClusterQueue(name, groups=tuple(map(group, groups)), **fields)


def pods(name: str = "workers", count: int = 1, gpu: int | None = None, **fields: Any) -> PodSet:
    requests = fields.pop("requests", {}) | ({} if gpu is None else {GPU: gpu})
    return PodSet(name, count, requests, **fields)


def workload(name: str, in_queue: str = "q", *pod_sets: PodSet | int, **fields: Any) -> Workload:
    """A number means one pod that wants this many GPUs. The UID is the name."""
    sets = tuple(pods(gpu=pod_set) if isinstance(pod_set, int) else pod_set for pod_set in pod_sets)
    defaults: dict[str, Any] = {"priority": 0, "queued_at_ms": 0, "uid": name} | fields
    return Workload(f"ns/{name}", cluster_queue=in_queue, pod_sets=sets, **defaults)


def running(name: str, in_queue: str = "q", gpu: int = 1, flavor: str = "l4", **fields: Any) -> Workload:
    """A workload that holds GPUs of a flavor."""
    assigned = PodSetAssignment("workers", 1, {GPU: flavor}, {GPU: gpu})
    return workload(name, in_queue, gpu, admission=Admission(in_queue, (assigned,)), **fields)


def snapshot(
    queues: Sequence[ClusterQueue] | ClusterQueue,
    *workloads: Workload,
    flavors: Sequence[Flavor] = (),
    cohorts: Sequence[Cohort] = (),
    hosts: Sequence[Node] = (),
) -> Snapshot:
    """Flavors that a queue names without a declaration are plain ones. RACKS is the only topology."""
    queues = [queues] if isinstance(queues, ClusterQueue) else queues
    named = {flavor.flavor for queue in queues for group in queue.groups for flavor in group.flavors}
    return Snapshot(
        {name: Flavor(name) for name in sorted(named)} | {flavor.name: flavor for flavor in flavors},
        {cohort.name: cohort for cohort in cohorts},
        {queue.name: queue for queue in queues},
        workloads,
        topologies={RACKS.name: RACKS},
        nodes={host.name: host for host in hosts},
    )


def host(name: str, gpu: int = 8, rack: str = "r1", **fields: Any) -> Node:
    """A ready node with this many GPUs."""
    labels = {HOSTNAME: name, "rack": rack}
    return Node(name, labels, allocatable={GPU: gpu, "pods": 110}, **fields)


def on(*places: tuple[str, int]) -> TopologyAssignment:
    """Hosts, each with this many pods."""
    return TopologyAssignment((HOSTNAME,), tuple(TopologyDomain((name,), count) for name, count in places))


def placed_on(assigned: TopologyAssignment | None) -> list[tuple[str, int]]:
    """Hosts, each with this many pods."""
    return [(domain.values[-1], domain.count) for domain in assigned.domains] if assigned else []


def node(of: Snapshot, name: str = "q") -> QuotaNode:
    return WorkingState(of).tree.queues[name]


def applied(before: Snapshot, plan: Plan, now_ms: int = NOW_MS) -> Snapshot:
    """The snapshot after a controller's writes: admissions are reserved, replaced slices have ended, and
    victims are evicted and still run."""
    admitted = {decision.workload: decision.admission for decision in plan.admissions}
    preempting = {wait.workload for wait in plan.waiting if wait.reason is WaitReason.PREEMPTION}
    parked = {wait.workload for wait in plan.waiting if wait.reason not in UNTRIED}
    victims = {*(preemption.workload for preemption in plan.preemptions), *plan.drained, *plan.displaced}

    def after(workload: Workload) -> Workload:
        if workload.key in admitted:
            held = replace(workload, admission=admitted[workload.key], preempting=False, unhealthy_nodes=())
            return replace(held, reserved_at_ms=workload.reserved_at_ms if workload.admission else now_ms)
        leaving = workload.evicted or workload.key in victims
        return replace(
            workload, evicted=leaving, preempting=workload.key in preempting, parked=workload.key in parked
        )

    return replace(
        before, workloads=tuple(after(wait) for wait in before.workloads if wait.key not in plan.replaced)
    )


def withdrawn(before: Snapshot) -> Snapshot:
    """The pods of all evicted workloads are deleted: these are pending again."""
    return replace(
        before,
        workloads=tuple(
            replace(workload, admission=None, evicted=False) if workload.evicted else workload
            for workload in before.workloads
        ),
    )


def without(before: Snapshot, *names: str) -> Snapshot:
    """These have finished."""
    gone = {f"ns/{name}" for name in names}
    return replace(
        before, workloads=tuple(workload for workload in before.workloads if workload.key not in gone)
    )


def admitted(plan: Plan) -> list[str]:
    return [decision.workload.removeprefix("ns/") for decision in plan.admissions]


def preempted(plan: Plan) -> list[tuple[str, str]]:
    """Victims with their preemptors."""
    return [
        (preemption.workload.removeprefix("ns/"), preemption.preemptor.removeprefix("ns/"))
        for preemption in plan.preemptions
    ]


def reasons(plan: Plan) -> dict[str, WaitReason]:
    return {waiting.workload.removeprefix("ns/"): waiting.reason for waiting in plan.waiting}


def messages(plan: Plan) -> dict[str, str]:
    return {waiting.workload.removeprefix("ns/"): waiting.message for waiting in plan.waiting}


def admitted_usage(workload: Workload) -> dict[FlavorResource, int]:
    """Returns what an admitted workload's first pod set uses of its GPU flavor."""
    assert workload.admission is not None
    assigned = workload.admission.pod_sets[0]
    return {fr(assigned.flavors[GPU]): assigned.usage[GPU]}
