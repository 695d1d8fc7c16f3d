"""Coverage and bias of past estimates, by group of jobs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

from muster.forecast.backtest.rolling import PastEstimate
from muster.forecast.results.waits import size_of

AGES = ((0, "at submission"), (3_600_000, "up to 1h"), (6 * 3_600_000, "1h to 6h"))
OLDER = "more than 6h"
SECOND_MS = 1000


class EstimateGroup(NamedTuple):
    """Estimates that are counted together. An empty field matches all values."""

    queue: str = ""
    priority_class: str = ""
    size: str = ""
    age: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The share of starts in the range, and the bias of the median."""

    estimates: int
    before: int  # starts before the 10th percentile
    after: int  # starts after the 90th percentile
    later: float  # share of the starts after the median estimate; 0.5 if it has no bias
    bias_s: float  # median of the estimated minus the actual start
    wait_s: float  # mean time from the estimate until the start

    @property
    def within(self) -> float:
        """The share of the starts in the range."""
        return 1 - (self.before + self.after) / self.estimates

    @property
    def bias(self) -> float:
        """The bias as a share of the mean wait."""
        return self.bias_s / self.wait_s if self.wait_s else 0.0


def coverage_by_group(estimates: Iterable[PastEstimate]) -> dict[EstimateGroup, Coverage]:
    """Returns the coverage of each group, in order: all, queues, classes and sizes, ages."""
    groups: Mapping[EstimateGroup, list[PastEstimate]] = defaultdict(list)
    for estimate in estimates:
        for group in _groups_of(estimate):
            groups[group].append(estimate)
    return {group: coverage(groups[group]) for group in sorted(groups, key=_order)}


def _groups_of(estimate: PastEstimate) -> Iterator[EstimateGroup]:
    job = estimate.of_job.job
    yield EstimateGroup()
    yield EstimateGroup(age=age_of(estimate.age_ms))
    yield EstimateGroup(queue=job.queue)
    if job.priority_class:
        yield EstimateGroup(queue=job.queue, priority_class=job.priority_class)
    yield EstimateGroup(queue=job.queue, size=size_of(job))


def _order(group: EstimateGroup) -> tuple[object, ...]:
    ages = [*(name for _, name in AGES), OLDER]
    return (group.queue, ages.index(group.age) if group.age else -1, group.size, group.priority_class)


def age_of(age_ms: int) -> str:
    """Returns the group of a time that a job had waited."""
    return next((name for limit_ms, name in AGES if age_ms <= limit_ms), OLDER)


def coverage(estimates: Sequence[PastEstimate]) -> Coverage:
    """Returns the coverage of estimates that are counted together; there must be one."""
    bounded = [e for e in estimates if e.p50_ms is not None]
    return Coverage(
        estimates=len(estimates),
        before=sum(e.p10_ms is None or e.start_ms < _second(e.p10_ms) for e in estimates),
        after=sum(e.p90_ms is not None and _second(e.start_ms) > e.p90_ms for e in estimates),
        later=sum(e.p50_ms is not None and e.start_ms > e.p50_ms for e in estimates) / len(estimates),
        bias_s=median((e.p50_ms or 0) - e.start_ms for e in bounded) / SECOND_MS if bounded else 0.0,
        wait_s=fmean(e.start_ms - e.at_ms for e in estimates) / SECOND_MS,
    )


def _second(at_ms: int) -> int:
    """Returns the beginning of the second: the conditions of objects have whole seconds."""
    return at_ms - at_ms % SECOND_MS
