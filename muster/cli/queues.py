"""`muster queues`: shows the tree of cohorts and ClusterQueues."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import click

from muster.admission import quantities
from muster.cli import view
from muster.cli.verb import verb
from muster.cli.view import VerbOutput, ViewOptions
from muster.forecast.report.tables import Table
from muster.live.observed import ObservationError
from muster.live.overview.overview import Overview
from muster.live.overview.tree import QueueNode, QuotaColumn, queue_tree
from muster.objects.meta import rfc3339

COLUMNS = ("QUEUE", "STATUS", "PENDING", "RESERVING", "ADMITTED", "FLAVOR", "RESOURCE")
AMOUNTS = ("QUOTA", "USED", "BORROWED", "LENT", "DEMAND")
WIDE = ("AVAILABLE", "WEIGHT", "SHARE", "PROBLEM")
BUDGETS = ("QUEUE", "RESOURCE", "FLAVOR", "PERIOD", "ENFORCEMENT")
HOURS = ("LIMIT", "USED", "COMMITTED", "USED %", "PERIOD END", "RUNS OUT", "BY")
STOPPED, INACTIVE = "Stopped", "Inactive"


@verb(
    """Shows the tree of cohorts and ClusterQueues with their quota, usage, borrowing and lending, and the
    demand of pending workloads. LENT is unused quota that its queue cannot use now, as other queues use
    it; DEMAND is the sum over all flavors of a resource, and
    includes workers that autoscaled workloads ask for. Tables show devices, wide tables all resources.
    A second table shows budgets: COMMITTED is the remaining declared run time of running workloads, RUNS OUT
    is the median time at which the budget is used up in the controller's forecast. Without a forecast, and
    once the budget is used up, BY says present rate: the time if as many devices stay in use."""
)
@click.option(
    "--queue",
    "names",
    metavar="NAME",
    multiple=True,
    help="only this ClusterQueue, or this Cohort and its subtree; repeatable",
)
@click.option("-A", "--all-namespaces", is_flag=True, help="queues of all namespaces, as without -n")
@view.view_options
def command(names: Sequence[str], all_namespaces: bool, opts: ViewOptions) -> int:
    """Prints the tree of cohorts and ClusterQueues; returns the exit code."""
    namespace = None if all_namespaces else opts.namespace
    return view.show(opts, lambda cluster_overview: _queues(cluster_overview, names, namespace, opts.is_wide))


def _queues(
    cluster_overview: Overview, names: Sequence[str], namespace: str | None, wide: bool
) -> VerbOutput:
    roots = queue_tree(cluster_overview)
    if namespace is not None:
        names = (*names, *_queues_of(cluster_overview, namespace))
    if names or namespace is not None:
        unknown = sorted(set(names) - {node.name for node in _all(roots)})
        if unknown:
            raise ObservationError(f"no ClusterQueue or Cohort {', '.join(unknown)}")
        roots = tuple(_only(roots, set(names)))
    titles = (*COLUMNS, *AMOUNTS, *(WIDE if wide else ()))
    rows = [row for root in roots for row in _rows(root, "", "", wide)]
    tables = [Table("", titles, rows, numbers=len(titles) if wide else 7)]
    budgets = [row for node in _all(roots) for row in _budget_rows(node)]
    if budgets:
        tables.append(Table("Budgets, in hours", (*BUDGETS, *HOURS), budgets, numbers=8))
    return VerbOutput({"queues": roots}, (), tables)


def _budget_rows(node: QueueNode) -> Iterator[tuple[str, ...]]:
    """Yields a row for each budget of a node."""
    for budget in node.budgets:
        hours = (budget.limit_hours, budget.used_hours, budget.committed_hours)
        yield (
            node.name,
            budget.resource,
            budget.flavor or "all",
            budget.period,
            budget.enforcement,
            *(f"{amount:.1f}" for amount in hours),
            f"{budget.used_percent}%",
            rfc3339(budget.end_ms),
            "" if budget.runs_out_ms is None else rfc3339(budget.runs_out_ms),
            budget.runs_out_by,
        )


def _queues_of(cluster_overview: Overview, namespace: str) -> list[str]:
    """Returns the ClusterQueues of the LocalQueues in a namespace."""
    return [
        queue.spec.cluster_queue
        for queue in cluster_overview.cluster.local_queues.values()
        if queue.metadata.namespace == namespace
        and queue.spec.cluster_queue in cluster_overview.usage_of_queues
    ]


def _all(nodes: Iterable[QueueNode]) -> Iterator[QueueNode]:
    for node in nodes:
        yield node
        yield from _all(node.children)


def _only(nodes: Iterable[QueueNode], names: set[str]) -> Iterator[QueueNode]:
    """Yields the nodes with these names, and their ancestors."""
    for node in nodes:
        if node.name in names:
            yield node
        else:
            children = tuple(_only(node.children, names))
            if children:
                yield replace(node, children=children)


def _rows(node: QueueNode, lead: str, below: str, wide: bool) -> Iterator[tuple[str, ...]]:
    """Yields a row for each column of a node, and then the rows of its children."""
    first = (f"{lead}{node.name}", _status(node), *map(str, _numbers(node)))
    blank = (below, *[""] * (len(first) - 1))
    shown = list(_shown(node.columns, wide))
    listed_resources: set[str] = set()
    for number, column in enumerate(shown):
        demand = (
            ""
            if column.resource in listed_resources
            else quantities.format(column.resource, node.demand.get(column.resource, 0))
        )
        listed_resources.add(column.resource)
        more = _wide(node, column) if wide else ()
        yield (
            *(blank if number else first),
            column.flavor,
            column.resource,
            *_amounts(column),
            demand,
            *more,
        )
    if not shown:
        yield (*first, *[""] * (7 + (len(WIDE) if wide else 0)))
    for child in node.children:
        last = child is node.children[-1]
        yield from _rows(
            child, f"{below}{'└─ ' if last else '├─ '}", f"{below}{'   ' if last else '│  '}", wide
        )


def _shown(columns: Sequence[QuotaColumn], wide: bool) -> Iterator[QuotaColumn]:
    """Yields the columns of devices, or all columns with quota or usage if the node has no devices."""
    devices = any("/" in column.resource and (column.total or column.used) for column in columns)
    for column in columns:
        has_any = column.total or column.used
        if wide or (has_any and ("/" in column.resource or not devices)):
            yield column


def _status(node: QueueNode) -> str:
    if node.stop_policy not in ("", "None"):
        return STOPPED
    return INACTIVE if node.problem else "Active" if node.kind == "ClusterQueue" else ""


def _numbers(node: QueueNode) -> tuple[int, int, int]:
    return node.workloads.pending, node.workloads.reserving, node.workloads.admitted


def _amounts(column: QuotaColumn) -> Iterator[str]:
    for amount in (column.total, column.used, column.borrowed, column.lent):
        yield quantities.format(column.resource, amount)


def _wide(node: QueueNode, column: QuotaColumn) -> tuple[str, ...]:
    available = quantities.format(column.resource, column.available)
    share = "∞" if node.share is None else f"{node.share:.0f}"
    return available, f"{node.weight:g}", share, node.problem
