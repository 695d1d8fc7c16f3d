"""`muster queue`: lists running workloads, and pending ones in queue order."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import click

from muster.cli import inputs, view
from muster.cli.verb import options, parsed, verb
from muster.cli.view import VerbOutput, ViewOptions, ago, size
from muster.cluster.phases import Phase
from muster.forecast.assumptions import Assumptions
from muster.forecast.growth_estimates import estimates
from muster.forecast.report.tables import Table
from muster.live.eta.growth_range import GrowthRange, growth_ranges
from muster.live.eta.start_range import StartRange, start_range
from muster.live.overview.details import QueueDetails, all_rows, queue_details
from muster.live.overview.overview import Overview
from muster.live.overview.rows import WorkloadRow

UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
AGE = re.compile(rf"([<>]?)(\d+)([{''.join(UNITS_S)}])")
COLUMNS = ("#", "JOB", "NAMESPACE", "STATUS", "PRIORITY", "CLASS", "PODS", "SIZE", "AGE", "REASON", "START")
WORKERS = "GRANTED/ASKED/RUNNING"  # only with autoscaled workloads
WIDE = ("QUEUE", "CLUSTER QUEUE", "WORKLOAD", "FLAVORS", "FOR", "MESSAGE")


def age_range(text: str) -> tuple[float, float]:
    """Returns the ages in seconds that a text such as 2h, >2h or <30m selects. Raises: ValueError."""
    match = AGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r}; expected an age such as >2h (older) or <30m (younger)")
    sign, number, unit = match.groups()
    age_s = float(number) * UNITS_S[unit]
    return (0.0, age_s) if sign == "<" else (age_s, float("inf"))


@dataclass(frozen=True, slots=True)
class Filter:
    """Options that select workloads. A workload must match all of them; for a repeated option, any of its
    values, except for `age`, where all values must match."""

    status: Sequence[str]
    priority_class: Sequence[str]
    queue: Sequence[str]
    age: Sequence[tuple[float, float]]

    def takes(self, row: WorkloadRow, now_ms: int) -> bool:
        """Returns whether the workload matches."""
        age_s = (now_ms - row.created_ms) / 1000
        queues = {row.local_queue, f"{row.namespace}/{row.local_queue}", row.cluster_queue}
        return (
            (not self.status or row.phase.value in self.status)
            and (not self.priority_class or row.priority_class in self.priority_class)
            and (not self.queue or not queues.isdisjoint(self.queue))
            and all(low <= age_s <= high for low, high in self.age)
        )


filter_options = options(
    "row_filter",
    Filter,
    click.option(
        "--status",
        type=click.Choice(
            [phase.value for phase in Phase if phase is not Phase.FINISHED], case_sensitive=False
        ),
        multiple=True,
        help="only workloads in this phase; repeatable",
    ),
    click.option(
        "--class",
        "priority_class",
        metavar="NAME",
        multiple=True,
        help="only workloads of this priority class; repeatable",
    ),
    click.option(
        "--queue",
        metavar="NAME",
        multiple=True,
        help="only workloads of this ClusterQueue, LocalQueue or namespace/LocalQueue; repeatable",
    ),
    click.option(
        "--age",
        metavar="AGE",
        multiple=True,
        type=parsed(age_range),
        help="only workloads older (>2h, or 2h) or younger (<30m) than AGE; repeatable",
    ),
)


@verb(
    """Lists the workloads of a ClusterQueue or a LocalQueue or, without NAME, of all queues in the namespace:
    first workloads that hold quota, then pending ones in queue order. Column # is the position among all
    workloads of the ClusterQueue; START is the controller's estimate, from an annotation of the job: of the
    start or, with a plus sign, of more workers for an autoscaled workload.
    GRANTED/ASKED/RUNNING counts the workers of autoscaled workloads."""
)
@click.argument(
    "name", metavar="[NAME]", required=False, help="a ClusterQueue, a LocalQueue or namespace/LocalQueue"
)
@click.option("-A", "--all-namespaces", is_flag=True, help="without NAME: queues of all namespaces")
@click.option("--eta", is_flag=True, help="compute the estimates now, as `muster eta` does")
@inputs.seeds_option
@filter_options
@view.view_options
def command(
    name: str | None, all_namespaces: bool, eta: bool, seeds: int, row_filter: Filter, opts: ViewOptions
) -> int:
    """Prints the workloads of a queue or a namespace; returns the exit code."""
    namespace = opts.own_namespace

    def shown(cluster_overview: Overview) -> VerbOutput:
        if name is None:
            everything = all_rows(cluster_overview)
            rows = [row for row in everything if all_namespaces or row.namespace == namespace]
            selected = _selected(cluster_overview, rows, row_filter, seeds if eta else 0)
            return VerbOutput(
                {"workloads": selected}, (), [_table("", selected, cluster_overview.now_ms, opts.is_wide)]
            )
        details = queue_details(cluster_overview, name, namespace)
        running, waiting = (
            tuple(_selected(cluster_overview, rows, row_filter, seeds if eta else 0))
            for rows in (details.running, details.waiting)
        )
        details = replace(details, running=running, waiting=waiting)
        return VerbOutput(details, (_heading(details), ""), _tables(details, opts.is_wide))

    return view.show(opts, shown, tenant="" if all_namespaces else namespace)


def _selected(
    cluster_overview: Overview, rows: Iterable[WorkloadRow], row_filter: Filter, seeds: int
) -> list[WorkloadRow]:
    """Returns the rows that match; if `seeds` is not 0, with estimates from `seeds` futures."""
    selected = [row for row in rows if row_filter.takes(row, cluster_overview.now_ms)]
    if not seeds:
        return selected
    state = cluster_overview.state
    present = [row for row in selected if row.key in state.workloads]
    starting = [row.key for row in present if not row.runs]
    growing = [row.key for row in present if state.workloads[row.key].may_grow]
    if not starting and not growing:
        return selected
    answer = estimates(state, starting, growing, Assumptions(), range(seeds), state.learned.delays)
    starts = {key: start_range(start) for key, start in answer.starts.items()}
    growth = {key: growth_ranges(of) for key, of in answer.growth.items()}
    return [
        replace(row, eta=starts.get(row.key, row.eta), growth=growth.get(row.key, row.growth))
        for row in selected
    ]


def _heading(details: QueueDetails) -> str:
    numbers = details.workloads
    target = "" if details.name == details.cluster_queue else f" (ClusterQueue {details.cluster_queue})"
    stopped = f"; stopPolicy {details.stop_policy}" if details.stop_policy != "None" else ""
    problem = f"; {details.quota.problem}" if details.quota is not None and details.quota.problem else ""
    return (
        f"{details.kind} {details.name}{target}: {numbers.pending} pending, {numbers.reserving} hold quota, "
        f"{numbers.admitted} of them admitted{stopped}{problem}"
    )


def _tables(details: QueueDetails, wide: bool) -> list[Table]:
    return [
        _table("Running", details.running, details.now_ms, wide),
        _table("Waiting", details.waiting, details.now_ms, wide),
    ]


def _table(title: str, rows: Sequence[WorkloadRow], now_ms: int, wide: bool) -> Table:
    is_elastic = any(row.elastic is not None for row in rows)
    columns = (*COLUMNS, *((WORKERS,) if is_elastic else ()), *(WIDE if wide else ()))
    cells = [tuple(_cells(row, now_ms, wide, is_elastic)) for row in rows]
    return Table(title, columns, cells, numbers=len(columns))


def _cells(row: WorkloadRow, now_ms: int, wide: bool, is_elastic: bool) -> Iterator[str]:
    yield "" if row.position is None else str(row.position)
    yield row.job
    yield row.namespace
    yield row.phase.value
    yield str(row.priority)
    yield row.priority_class
    yield str(row.pods)
    yield size(row.requests, wide)
    yield ago((now_ms - row.created_ms) / 1000)
    yield row.reason
    yield growth_text(row.growth, now_ms) or start_text(row.eta, now_ms)
    if is_elastic:
        yield "" if row.elastic is None else row.elastic.text
    if wide:
        yield row.local_queue
        yield row.cluster_queue
        yield row.name
        yield ",".join(row.flavors)
        yield ago((now_ms - row.since_ms) / 1000)
        yield row.message


def growth_text(growth: Iterable[GrowthRange], now_ms: int) -> str:
    """Returns the time until the expected growth of each group, with its workers."""
    texts = (f"+{of.workers or '?'} in {start_text(of.time, now_ms)}" for of in growth)
    return ", ".join(texts)


def start_text(eta: StartRange | None, now_ms: int) -> str:
    """Returns the time until the expected start: the median and the range."""
    if eta is None:
        return ""
    low, median, high = (
        "later" if at_ms is None else ago((at_ms - now_ms) / 1000)
        for at_ms in (eta.p10_ms, eta.p50_ms, eta.p90_ms)
    )
    return f"{median} ({low} to {high})"
