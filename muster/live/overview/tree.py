"""Cohorts and ClusterQueues as a tree: quotas, their usage and the demand for them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from muster import admission as core
from muster.controller.passes.queue_counts import NEVER_ADMISSIBLE, QueueCount
from muster.controller.passes.queue_status import queue_problem
from muster.kube.kinds import CLUSTER_QUEUES, COHORTS
from muster.live.overview.document import Amounts
from muster.live.overview.overview import Overview


@dataclass(frozen=True, slots=True)
class Column:
    """Quota of a flavor's resource, in the core's units, as in core.ColumnUsage."""

    flavor: str
    resource: str
    nominal: int
    total: int
    used: int
    borrowed: int
    lent: int
    available: int

    QUANTITIES: ClassVar = ("nominal", "total", "used", "borrowed", "lent", "available")


@dataclass(frozen=True, slots=True)
class WorkloadNumbers:
    """Numbers of workloads; `inadmissible` ones are pending, and would not fit an empty queue either."""

    pending: int = 0
    inadmissible: int = 0
    reserving: int = 0
    admitted: int = 0

    def __add__(self, other: "WorkloadNumbers") -> "WorkloadNumbers":
        return WorkloadNumbers(
            self.pending + other.pending,
            self.inadmissible + other.inadmissible,
            self.reserving + other.reserving,
            self.admitted + other.admitted,
        )


@dataclass(frozen=True, slots=True)
class QueueNode:
    """A Cohort or a ClusterQueue with what is below it. `share` is its dominant resource share in
    thousandths, None for a borrower of weight 0. `problem` is why a queue admits nothing. `demand` is what
    pending workloads ask for, by resource: they have no flavor yet."""

    kind: str
    name: str
    weight: float
    share: float | None
    stop_policy: str
    problem: str
    workloads: WorkloadNumbers
    columns: tuple[Column, ...]
    demand: Amounts
    children: tuple["QueueNode", ...] = field(default=())


def queue_tree(seen: Overview) -> tuple[QueueNode, ...]:
    """Returns the roots: cohorts, then ClusterQueues without one, each by name."""
    below: dict[str | None, list[core.NodeUsage]] = defaultdict(list)
    for node in seen.usage:
        below[node.parent].append(node)

    def nodes(parent: str | None) -> tuple[QueueNode, ...]:
        found = sorted(below[parent], key=lambda node: (not node.is_cohort, node.name))
        return tuple(
            _cohort(seen, n, nodes(n.name)) if n.is_cohort else queue_node(seen, n.name) for n in found
        )

    return nodes(None)


def queue_node(seen: Overview, name: str) -> QueueNode:
    """Returns the node of a ClusterQueue."""
    usage, known = seen.usage_of_queues[name], seen.engine.objects.cluster_queues[name]
    queue = seen.cluster.cluster_queues.get(name)  # None: deleted, while gangs hold its quota
    problem = queue_problem(queue, seen.cluster) if queue is not None else None
    return QueueNode(
        kind=str(CLUSTER_QUEUES),
        name=name,
        weight=float(known.weight),
        share=_share(usage),
        stop_policy=known.stop.value,
        problem=problem.message if problem is not None else known.problem,
        workloads=numbers(seen.counts.by_cluster_queue.get(name)),
        columns=columns(usage),
        demand=_demand(seen, name),
    )


def _cohort(seen: Overview, usage: core.NodeUsage, children: tuple[QueueNode, ...]) -> QueueNode:
    known = seen.engine.objects.cohorts.get(usage.name)  # None: it is only named
    return QueueNode(
        kind=str(COHORTS),
        name=usage.name,
        weight=float(known.weight) if known is not None else 1.0,
        share=_share(usage),
        stop_policy="",
        problem="",
        workloads=sum((child.workloads for child in children), WorkloadNumbers()),
        columns=columns(usage),
        demand=added(child.demand for child in children),
        children=children,
    )


def columns(usage: core.NodeUsage) -> tuple[Column, ...]:
    return tuple(
        Column(*fr, of.nominal, of.total, of.used, of.borrowed, of.lent, of.available)
        for fr, of in usage.columns.items()
    )


def numbers(count: QueueCount | None) -> WorkloadNumbers:
    """Returns the numbers of a queue; None is one without workloads."""
    if count is None:
        return WorkloadNumbers()
    pending = count.pending
    return WorkloadNumbers(pending.total(), pending[NEVER_ADMISSIBLE], count.reserving, count.admitted)


def added(amounts: Iterable[Amounts]) -> Amounts:
    total = Amounts()
    for one in amounts:
        for resource, amount in one.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def requested(workload: core.Workload) -> Amounts:
    """Returns what all its pods ask for that still have to run."""
    return added(
        Amounts({r: n * (pods.count - pods.reclaimable) for r, n in pods.requests.items()})
        for pods in workload.pod_sets
    )


def _demand(seen: Overview, queue: str) -> Amounts:
    known = seen.state.workloads
    waiting = (known[w.key].workload for w in seen.workloads_by_queue.get(queue, ()) if w.key in known)
    return added(requested(workload) for workload in waiting if workload.admission is None)


def _share(usage: core.NodeUsage) -> float | None:
    return None if usage.share.weightless else float(usage.share.value)
