"""The tree of cohorts and ClusterQueues with quota, usage and demand."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from muster import admission as core
from muster.admission import quantities
from muster.cluster.queue_counts import NEVER_ADMISSIBLE, QueueCount
from muster.cluster.queue_problems import queue_problem
from muster.kube.kinds import CLUSTER_QUEUES, COHORTS
from muster.live.eta.run_outs import current
from muster.live.overview.document import Amounts
from muster.live.overview.overview import Overview
from muster.live.overview.worker_groups import waiting_growth


@dataclass(frozen=True, slots=True)
class QuotaColumn:
    """Quota of a resource in a flavor, in the core's units, as in core.ColumnUsage."""

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
    """Counts of workloads. `inadmissible` ones are pending and would not even fit an empty queue."""

    pending: int = 0
    inadmissible: int = 0
    reserving: int = 0
    admitted: int = 0

    def __add__(self, addend: "WorkloadNumbers") -> "WorkloadNumbers":
        return WorkloadNumbers(
            self.pending + addend.pending,
            self.inadmissible + addend.inadmissible,
            self.reserving + addend.reserving,
            self.admitted + addend.admitted,
        )


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A budget in its current period, in hours of its resource."""

    resource: str
    flavor: str  # empty: all flavors
    period: str
    enforcement: str
    limit_hours: float
    used_hours: float
    committed_hours: float  # by declared run times of running workloads
    start_ms: int
    end_ms: int
    runs_out_ms: int | None  # None: not in this period
    runs_out_by: Literal["forecast", "present rate"]  # the latter if as many devices stay in use

    @property
    def used_percent(self) -> int:
        """The used part of the limit."""
        return int(100 * self.used_hours / self.limit_hours) if self.limit_hours else 100


@dataclass(frozen=True, slots=True)
class QueueNode:
    """A Cohort or ClusterQueue with its subtree."""

    kind: str
    name: str
    weight: float
    share: float | None  # dominant resource share in thousandths; None for a borrower of weight 0
    stop_policy: str
    problem: str  # why the queue admits nothing
    workloads: WorkloadNumbers
    columns: tuple[QuotaColumn, ...]
    demand: Amounts  # of pending workloads, by resource, as they have no flavor yet
    children: tuple["QueueNode", ...] = field(default=())
    budgets: tuple[BudgetRow, ...] = ()


def queue_tree(overview: Overview) -> tuple[QueueNode, ...]:
    """Returns the roots: cohorts, then ClusterQueues without a cohort, both ordered by name."""
    below: dict[str | None, list[core.NodeUsage]] = defaultdict(list)
    for node in overview.usage:
        below[node.parent].append(node)

    def nodes(parent: str | None) -> tuple[QueueNode, ...]:
        members = sorted(below[parent], key=lambda node: (not node.is_cohort, node.name))
        return tuple(
            _cohort(overview, n, nodes(n.name)) if n.is_cohort else queue_node(overview, n.name)
            for n in members
        )

    return nodes(None)


def queue_node(overview: Overview, name: str) -> QueueNode:
    """Returns the node of a ClusterQueue."""
    usage, declared = overview.usage_of_queues[name], overview.engine.objects.cluster_queues[name]
    queue = overview.cluster.cluster_queues.get(name)  # None: deleted while gangs hold its quota
    problem = queue_problem(queue, overview.cluster) if queue is not None else None
    return QueueNode(
        kind=str(CLUSTER_QUEUES),
        name=name,
        weight=float(declared.weight),
        share=_share(usage),
        stop_policy=declared.stop.value,
        problem=problem.message if problem is not None else declared.problem,
        workloads=numbers(overview.counts.by_cluster_queue.get(name)),
        columns=columns(usage),
        demand=_demand(overview, name),
        budgets=_budgets(overview, usage),
    )


def _cohort(overview: Overview, usage: core.NodeUsage, children: tuple[QueueNode, ...]) -> QueueNode:
    declared = overview.engine.objects.cohorts.get(
        usage.name
    )  # None: queues name it, but no Cohort object exists
    return QueueNode(
        kind=str(COHORTS),
        name=usage.name,
        weight=float(declared.weight) if declared is not None else 1.0,
        share=_share(usage),
        stop_policy="",
        problem="",
        workloads=sum((child.workloads for child in children), WorkloadNumbers()),
        columns=columns(usage),
        demand=added(child.demand for child in children),
        children=children,
        budgets=_budgets(overview, usage),
    )


def _budgets(overview: Overview, node: core.NodeUsage) -> tuple[BudgetRow, ...]:
    """Returns the budgets of a node."""
    return tuple(
        _budget(usage, overview)
        for usage in overview.budgets
        if (usage.is_cohort, usage.name) == (node.is_cohort, node.name)
    )


def _budget(usage: core.BudgetUsage, overview: Overview) -> BudgetRow:
    budget = usage.budget
    by_rate_ms = usage.runs_out_ms(overview.now_ms)
    is_used_up = usage.used_unit_ms >= usage.limit_unit_ms
    queues = {} if is_used_up else overview.cluster.cluster_queues
    estimate = current(usage, queues, overview.now_ms)
    unit_ms_of_hour = core.HOUR_MS * (quantities.MILLI if budget.resource == quantities.CPU else 1)
    return BudgetRow(
        resource=budget.resource,
        flavor=budget.flavor,
        period=budget.period_name,
        enforcement=budget.enforcement.value,
        limit_hours=usage.limit_unit_ms / unit_ms_of_hour,
        used_hours=usage.used_unit_ms / unit_ms_of_hour,
        committed_hours=usage.committed_unit_ms / unit_ms_of_hour,
        start_ms=usage.start_ms,
        end_ms=usage.end_ms,
        runs_out_ms=by_rate_ms if estimate is None else estimate.p50_ms,
        runs_out_by="present rate" if estimate is None else "forecast",
    )


def columns(usage: core.NodeUsage) -> tuple[QuotaColumn, ...]:
    """Returns the columns of a node."""
    return tuple(
        QuotaColumn(*fr, of.nominal, of.total, of.used, of.borrowed, of.lent, of.available)
        for fr, of in usage.columns.items()
    )


def numbers(count: QueueCount | None) -> WorkloadNumbers:
    """Returns the counts of a queue; zeros if `count` is None, for a queue without workloads."""
    if count is None:
        return WorkloadNumbers()
    pending = count.pending
    return WorkloadNumbers(pending.total(), pending[NEVER_ADMISSIBLE], count.reserving, count.admitted)


def added(amounts: Iterable[Amounts]) -> Amounts:
    """Returns the sum of amounts, by resource."""
    total = Amounts()
    for part in amounts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def requested(workload: core.Workload) -> Amounts:
    """Returns the requests of all pods of a workload that have yet to finish."""
    return added(
        Amounts({r: n * (pods.count - pods.reclaimable) for r, n in pods.requests.items()})
        for pods in workload.pod_sets
    )


def _demand(overview: Overview, queue: str) -> Amounts:
    live = overview.state.workloads
    waiting = (live[w.key].workload for w in overview.workloads_by_queue.get(queue, ()) if w.key in live)
    starts = (requested(workload) for workload in waiting if workload.admission is None)
    return added((*starts, *_growth(overview, queue)))


def _growth(overview: Overview, queue: str) -> Iterator[Amounts]:
    """Yields the requests of workers that running gangs of a queue ask for and are not granted."""
    for workload in overview.workloads_by_queue.get(queue, ()):
        growth, live = waiting_growth(workload, overview.cluster), overview.state.workloads.get(workload.key)
        for pods in live.workload.pod_sets if growth and live is not None else ():
            yield Amounts({r: n * growth.get(pods.name, 0) for r, n in pods.requests.items()})


def _share(usage: core.NodeUsage) -> float | None:
    return None if usage.share.weightless else float(usage.share.value)
