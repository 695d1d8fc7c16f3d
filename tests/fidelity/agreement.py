"""The agreement of two histories of one trace."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf

from muster.forecast.results.waits import Waits, statistics
from tests.fidelity.history import History, Holding

Column = tuple[str, str]
"""A queue and a priority class; an empty queue means all."""


@dataclass(frozen=True)
class Agreement:
    """`equal_positions` and `tau` (Kendall's) compare the orders of first admissions; `divergence` is the
    first position in which they differ (None: nowhere). `overlap` is the share of the time that jobs hold
    quota in either history in which they hold it in both. `deviations` are of mean waits, by class."""

    equal_positions: float
    tau: float
    divergence: int | None
    overlap: float
    deviations: Mapping[str, float]

    @property
    def worst(self) -> float:
        """The largest deviation of a class's mean wait."""
        return max(abs(deviation) for deviation in self.deviations.values())


def compare(forecast: History, measured: History) -> Agreement:
    order, other = forecast.order(), measured.order()
    places = [pair == two for pair, two in zip(order, other, strict=False)]
    divergence = next((n for n, equal in enumerate(places) if not equal), None)
    if divergence is None and len(order) != len(other):
        divergence = len(places)
    return Agreement(
        equal_positions=sum(places) / max(len(order), len(other)),
        tau=kendall_tau(order, other),
        divergence=divergence,
        overlap=overlap(forecast.holdings, measured.holdings),
        deviations=_deviations(forecast, measured),
    )


def kendall_tau(order: Sequence[str], other: Sequence[str]) -> float:
    """Returns the rank correlation of the jobs in both orders: 1 for the same order, -1 for the reverse."""
    place = {job: n for n, job in enumerate(other)}
    common = [place[job] for job in order if job in place]
    pairs = len(common) * (len(common) - 1) // 2
    if not pairs:
        return 1.0
    return sum(1 if first < second else -1 for first, second in combinations(common, 2)) / pairs


def overlap(holdings: Sequence[Holding], others: Sequence[Holding]) -> float:
    """Returns the intersection over the union of the times in which each job holds quota."""
    times: dict[str, tuple[list[Holding], list[Holding]]] = defaultdict(lambda: ([], []))
    for side, of in enumerate((holdings, others)):
        for holding in of:
            times[holding.job][side].append(holding)
    both = sum(
        _common_s(our_holding, two)
        for ours, theirs in times.values()
        for our_holding in ours
        for two in theirs
    )
    total = sum(holding.ended_s - holding.reserved_s for holding in (*holdings, *others))
    return both / (total - both) if total > both else 1.0


def _common_s(holding: Holding, two: Holding) -> float:
    return max(0.0, min(holding.ended_s, two.ended_s) - max(holding.reserved_s, two.reserved_s))


def waits(history: History) -> dict[Column, Waits]:
    """Returns the waits by class, over all queues and by queue."""
    waited = history.waits_s()
    columns: dict[Column, list[int | None]] = defaultdict(list)
    for job in history.jobs:
        wait_s = waited[job.name]
        wait_ms = None if wait_s is None else round(1000 * wait_s)
        for queue in ("", job.queue):
            columns[queue, job.priority_class].append(wait_ms)
    return {column: statistics(columns[column]) for column in sorted(columns)}


def _deviations(forecast: History, measured: History) -> dict[str, float]:
    expected = waits(measured)
    deviations_by_group = {}
    for (queue, name), ours in waits(forecast).items():
        theirs = expected[queue, name]
        if not queue:
            deviations_by_group[name] = deviation(ours.mean_s, theirs.mean_s)
    return deviations_by_group


def deviation(forecast_s: float, measured_s: float) -> float:
    """Returns the relative deviation; infinity if there was no wait to compare with."""
    if forecast_s == measured_s:
        return 0.0
    return (forecast_s - measured_s) / measured_s if measured_s else inf
