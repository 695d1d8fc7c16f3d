"""Compares two configurations over the same futures: differences, their direction, and the most
delayed jobs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import fmean

from muster.forecast.results.outcome import SimulatedJob, SimulationOutcome
from muster.forecast.results.waits import JobGroup, Waits, band, mean_of, waits_by_group, waits_ms

SUFFERERS = 20


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of one statistic of one group."""

    group: JobGroup
    statistic: str
    base_s: float  # mean over the futures
    changed_s: float
    low_s: float  # 10th percentile of the paired differences
    high_s: float  # 90th percentile
    agree: int  # number of futures that agree on the direction of the mean
    futures: int

    @property
    def change_s(self) -> float:
        """The increase in seconds; negative if the change improves it."""
        return self.changed_s - self.base_s


@dataclass(frozen=True, slots=True)
class Sufferer:
    """A job and its mean wait in both configurations, over the futures in which it starts in both. If it no
    longer starts, the wait is the mean of the futures of the base in which it does."""

    number: int
    name: str
    queue: str
    priority_class: str
    accelerators: int
    base_s: float
    changed_s: float | None  # None: it starts in the base, and in no future after the change


WaitPair = tuple[float | None, float | None]
"""A statistic in the base and after the change; None on a side on which no job of the group starts."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two configurations."""

    # Over jobs that start in both configurations. Otherwise the mean would fall if a change keeps a gang
    # with a
    # long wait from starting at all.
    differences: Sequence[Difference]
    sufferers: Sequence[Sufferer]
    # Mean number of jobs that do not start, in the base and after the change; groups without any are omitted.
    never: Mapping[JobGroup, tuple[float, float]] = field(default_factory=dict)
    # Statistics over all jobs that start, in the base and after the change.
    waits: Mapping[tuple[JobGroup, str], WaitPair] = field(default_factory=dict)


STATISTICS = ("mean_s", "p50_s", "p90_s", "p95_s", "p99_s")


def compare(base: Sequence[SimulationOutcome], changed: Sequence[SimulationOutcome]) -> Comparison:
    """Compares futures in pairs with the same seed, over the same trace."""
    before, after = ([waits_by_group(outcome) for outcome in side] for side in (base, changed))
    groups = sorted(set(before[0]) | set(after[0]))
    pairs = [_in_both(b, a) for b, a in zip(base, changed, strict=True)]
    compared = (_difference(group, statistic, pairs) for group in groups for statistic in STATISTICS)
    counts = {group: (_never(group, before), _never(group, after)) for group in groups}
    return Comparison(
        differences=[difference for difference in compared if difference is not None],
        sufferers=_sufferers(base, changed),
        never={group: pair for group, pair in counts.items() if any(pair)},
        waits={
            (group, statistic): (_mean(before, group, statistic), _mean(after, group, statistic))
            for group in groups
            for statistic in STATISTICS
        },
    )


def _never(group: JobGroup, futures: Sequence[Mapping[JobGroup, Waits]]) -> float:
    return fmean(waits[group].never if group in waits else 0 for waits in futures)


def _mean(futures: Sequence[Mapping[JobGroup, Waits]], group: JobGroup, statistic: str) -> float | None:
    """Returns the mean over the futures in which a job of the group starts; None if there is none."""
    started = [waits for waits in futures if group in waits and waits[group].count]
    return mean_of(started, group, statistic) if started else None


def _in_both(
    base: SimulationOutcome, changed: SimulationOutcome
) -> tuple[dict[JobGroup, Waits], dict[JobGroup, Waits]]:
    """Returns the waits of the jobs that start in both, by group."""
    started = _waits_by_number(base).keys() & _waits_by_number(changed).keys()
    return waits_by_group(base, started), waits_by_group(changed, started)


def _difference(
    group: JobGroup, statistic: str, futures: Sequence[tuple[dict[JobGroup, Waits], dict[JobGroup, Waits]]]
) -> Difference | None:
    """Returns the difference; None if no job of the group starts in both, in any future."""
    pairs = [
        (getattr(b[group], statistic), getattr(a[group], statistic))
        for b, a in futures
        if group in b and group in a
    ]
    if not pairs:
        return None
    changes = sorted(a - b for b, a in pairs)
    mean = fmean(changes)
    agree = sum((change > 0) - (change < 0) == (mean > 0) - (mean < 0) for change in changes)
    base_s, changed_s = fmean(b for b, _ in pairs), fmean(a for _, a in pairs)
    return Difference(group, statistic, base_s, changed_s, *band(changes), agree, len(pairs))


def _sufferers(base: Sequence[SimulationOutcome], changed: Sequence[SimulationOutcome]) -> list[Sufferer]:
    """Returns jobs of both sides that no longer start in any future, and jobs whose mean wait grows, worst
    first."""
    jobs = _jobs_by_number(base)
    in_both: dict[int, _Sums] = defaultdict(_Sums)
    in_base: dict[int, _Sums] = defaultdict(_Sums)
    starts: set[int] = set()  # in some future after the change
    for b, a in zip(base, changed, strict=True):
        waits_before, waits_after = _waits_by_number(b), _waits_by_number(a)
        starts |= waits_after.keys()
        for number, before_ms in waits_before.items():
            in_base[number].add(before_ms, 0)
            if (after_ms := waits_after.get(number)) is not None:
                in_both[number].add(before_ms, after_ms)
    uncancelled = {number for number, job in _jobs_by_number(changed).items() if job.cancelled_ms is None}
    stopped = (in_base.keys() - starts) & uncancelled
    growth = {number: sums.growth_ms for number, sums in in_both.items()} | dict.fromkeys(stopped, inf)
    worst = sorted((n for n in growth if growth[n] > 0), key=lambda n: (-growth[n], n))[:SUFFERERS]
    return [
        _sufferer(jobs[n], in_base[n], starts=False)
        if n in stopped
        else _sufferer(jobs[n], in_both[n], starts=True)
        for n in worst
    ]


def _jobs_by_number(outcomes: Sequence[SimulationOutcome]) -> dict[int, SimulatedJob]:
    """Returns the jobs of all futures, which share one sequence of jobs unless their demand is resampled."""
    sequences = {id(outcome.jobs): outcome.jobs for outcome in outcomes}
    return {job.number: job for jobs in sequences.values() for job in jobs}


@dataclass(slots=True)
class _Sums:
    """Sums of a job's waits over futures."""

    before_ms: int = 0
    after_ms: int = 0
    futures: int = 0

    def add(self, before_ms: int, after_ms: int) -> None:
        self.before_ms += before_ms
        self.after_ms += after_ms
        self.futures += 1

    @property
    def growth_ms(self) -> float:
        return (self.after_ms - self.before_ms) / self.futures


def _sufferer(job: SimulatedJob, sums: _Sums, *, starts: bool) -> Sufferer:
    base_s, changed_s = (total / sums.futures / 1000 for total in (sums.before_ms, sums.after_ms))
    return Sufferer(
        job.number,
        job.name,
        job.queue,
        job.priority_class,
        job.accelerators,
        base_s,
        changed_s if starts else None,
    )


def _waits_by_number(outcome: SimulationOutcome) -> dict[int, int]:
    pairs = zip(outcome.jobs, waits_ms(outcome), strict=True)
    return {job.number: wait_ms for job, wait_ms in pairs if wait_ms is not None}
