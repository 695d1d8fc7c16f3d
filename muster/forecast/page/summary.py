"""The figures at the top of the page, over all futures of each side."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muster.forecast.page.side import ForecastSide
from muster.forecast.page.spread import PairedChange, Spread
from muster.forecast.page.wait_rows import FutureWaits
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.usage import usage
from muster.forecast.results.waits import JobGroup, Waits, statistics


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the header."""

    name: str
    unit: str  # "s", "share" (of 1) or "count"
    less_is_better: bool | None  # None: no direction is better
    sides: tuple[Spread, ...]
    change: PairedChange | None


_FIGURES = (
    ("Median wait", "s", True),
    ("90th percentile of waits", "s", True),
    ("Quota in use", "share", None),
    ("Jobs that never start", "count", True),
    ("Preemptions", "count", True),
    ("Accelerator-hours lost", "count", True),
)
WAITS = frozenset(("Median wait", "90th percentile of waits", "Jobs that never start"))
"""The figures that a user of the cluster notices."""
NO_JOBS = statistics([])


def summary(sides: Sequence[ForecastSide], waits: Sequence[FutureWaits]) -> list[Figure]:
    """Returns the figures of the header."""
    by_side = [
        [
            _figures(outcome, groups.get(JobGroup(), NO_JOBS))
            for outcome, groups in zip(side.outcomes, futures, strict=True)
        ]
        for side, futures in zip(sides, waits, strict=True)
    ]
    figures = []
    for at, (name, unit, less_is_better) in enumerate(_FIGURES):
        values = [[future[at] for future in side] for side in by_side]
        change = PairedChange.between(*values) if len(values) == 2 else None
        figures.append(Figure(name, unit, less_is_better, tuple(map(Spread.over, values)), change))
    return _without_improvements(figures) if any(map(_waits_grow, figures)) else figures


def _waits_grow(item: Figure) -> bool:
    return item.name in WAITS and item.change is not None and item.change.mean > 0


def _without_improvements(figures: Sequence[Figure]) -> list[Figure]:
    """Returns the figures without a verdict on decreases that longer waits cause: jobs that run less are
    preempted less."""
    return [
        replace(item, less_is_better=None)
        if item.name not in WAITS and item.change is not None and item.change.mean < 0
        else item
        for item in figures
    ]


def _figures(outcome: SimulationOutcome, waits: Waits) -> tuple[float, ...]:
    used = usage(outcome)
    offered = sum(flavor.offered for flavor in used.flavors.values())
    held = sum(flavor.held for flavor in used.flavors.values())
    in_use = held / offered if offered else 0.0
    return waits.p50_s, waits.p90_s, in_use, waits.never, used.preemptions, used.lost_hours
