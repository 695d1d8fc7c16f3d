"""Run times of jobs that have not ended, learned from past jobs.

A prediction mixes the past jobs of the same user and size, of the user, of the class and size in the queue,
of the class, of the queue, of all, and a published distribution: each group counts by its number of jobs,
so that few jobs give a wide range. A job that has run for some time is compared with jobs that ran longer.
A declared limit is an upper bound, and past jobs show which share of their limits jobs of a group run.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, inf, log, sqrt
from random import Random
from statistics import NormalDist

from muster.forecast.learning.log_samples import LogSamples
from muster.forecast.learning.normal_draws import drawn_above, standard_normal
from muster.forecast.learning.past_job import PastJob
from muster.forecast.placement import PlacedJob
from muster.forecast.results.waits import size_of

LOG_MEAN, LOG_DEVIATION = 6.51, 1.78
"""Lognormal run time in seconds, for clusters without history: 7,180 jobs of Alibaba's openb trace of 2023,
of which half ran for up to 10 minutes and 10% for more than two hours."""

LOG_DEVIATION_BETWEEN = 2.0
"""Standard deviation of the logarithm of the median between clusters, which shifts all jobs of a future."""

GENERAL_STREAM = 2
"""The stream of that draw."""

GROUP_WEIGHT = 2.0
"""The number of past jobs with which a group counts as much as all larger groups together."""

DRIFT = 0.15
"""Standard deviation by which the logarithm of a group's run times changes from the past to the future."""

SHARED_DRIFT = 0.2
"""The same for all groups together: jobs that wait for the same quota are late together. Without it, the sum
of many run times would be almost certain."""

SHARED_DRIFT_STREAM = 4

LIMIT_SHARES_MIN = 5
"""Number of past jobs with a limit from which on their shares of it are used."""

SECOND_MS = 1000


class RunTimeSource(StrEnum):
    """The source of a run time."""

    FIXED = "a fixed share of their declared limit"
    LEARNED = "learned from past jobs"
    LIMITED = "up to their declared limit, as there are few past jobs (wide range)"
    GENERAL = "from Alibaba's openb trace, as there are few past jobs (wide range)"
    ENDLESS = "until deleted"


Group = tuple[str | int, ...]


def groups_of(job: PlacedJob) -> tuple[Group, ...]:
    """Returns the groups of a job, the most similar jobs first."""
    size = size_of(job)
    of_user: tuple[Group, ...] = (("user", job.user, size), ("user", job.user)) if job.user else ()
    in_class = ("class", job.queue, job.priority_class)
    return (*of_user, (*in_class, size), in_class, ("queue", job.queue), ("all",))


@dataclass(frozen=True, slots=True)
class _Samples:
    """Past jobs of a group: run times in seconds, and shares of declared limits."""

    run_times: LogSamples
    shares: LogSamples

    def uses_shares(self) -> bool:
        """Returns whether limits predict run times better than earlier run times do."""
        return self.shares.count >= LIMIT_SHARES_MIN and self.shares.spread < self.run_times.spread


@dataclass(frozen=True, slots=True)
class _Component:
    """A part of a mixture: smoothed samples on a scale, with a bound in the logarithm of that scale."""

    weight: float
    samples: LogSamples
    bound: float
    shift: float
    unit_log: float  # of the scale, in seconds


class RunTimes:
    """Run times of past jobs, in the order in which they ended."""

    def __init__(self, past: Iterable[PastJob]) -> None:
        run_times: dict[Group, list[float]] = defaultdict(list)
        shares: dict[Group, list[float]] = defaultdict(list)
        self.count = 0
        for past_job in past:
            run_ms = past_job.job.run_ms
            # A job that still runs is no lower bound: the samples are the latest jobs, but a service that
            # has run for months would count as much as all of them (measured by a backtest).
            if run_ms is None:
                continue
            self.count += 1
            run_s = max(run_ms, SECOND_MS) / SECOND_MS
            for group in groups_of(past_job.job):
                run_times[group].append(run_s)
                if past_job.limit_ms:
                    shares[group].append(min(1.0, run_s * SECOND_MS / past_job.limit_ms))
        self._groups: Mapping[Group, _Samples] = {
            group: _Samples(LogSamples(values), LogSamples(shares.get(group, ())))
            for group, values in run_times.items()
        }

    def in_future(self, seed: int) -> "FutureRunTimes":
        """Returns the run times of one future."""
        return FutureRunTimes(self._groups, seed)

    def source(self, job: PlacedJob, limit_ms: int | None, ran_ms: int) -> RunTimeSource:
        """Returns the source of most run times drawn for a job that has run for `ran_ms`."""
        learned, general = FutureRunTimes(self._groups, None).components(job, limit_ms, ran_ms)
        if sum(component.weight for component in learned) >= general:
            return RunTimeSource.LEARNED
        return RunTimeSource.GENERAL if limit_ms is None else RunTimeSource.LIMITED


class FutureRunTimes:
    """The run times of one future, in which all jobs of a group may run longer than in the past; with the
    seed None, none does."""

    def __init__(self, groups: Mapping[Group, _Samples], seed: int | None) -> None:
        self._groups, self._seed = groups, seed
        self._shifts: dict[Group, float] = {}

    def drawn_ms(self, job: PlacedJob, limit_ms: int | None, ran_ms: int, random: Random) -> int:
        """Draws the run time of a job that has already run for `ran_ms`; at most `limit_ms`, unless it has
        run for longer."""
        if limit_ms is not None and ran_ms >= limit_ms:
            return ran_ms
        learned, general = self.components(job, limit_ms, ran_ms)
        point = random.random() * (sum(component.weight for component in learned) + general)
        for component in learned:
            point -= component.weight
            if point < 0:
                drawn = component.samples.drawn(component.bound, component.shift, random)
                drawn_ms = SECOND_MS * exp(drawn + component.unit_log)
                break
        else:
            drawn_ms = self._general_ms(limit_ms, ran_ms, random)
        return max(ran_ms + 1, round(min(drawn_ms, inf if limit_ms is None else limit_ms)))

    def components(
        self, job: PlacedJob, limit_ms: int | None, ran_ms: int
    ) -> tuple[Sequence[_Component], float]:
        """Returns the groups with jobs that ran for longer than `ran_ms`, and the weight of the published
        distribution."""
        weight, components, fewer = 1.0, [], 0
        ran_log = log(ran_ms / SECOND_MS) if ran_ms > 0 else -inf
        for group in groups_of(job):
            samples = self._groups.get(group)
            if samples is None or samples.run_times.count == fewer:
                continue  # a larger group without further jobs says nothing new
            fewer = samples.run_times.count
            by_limit = limit_ms is not None and samples.uses_shares()
            of_scale = samples.shares if by_limit else samples.run_times
            unit_log = log(limit_ms / SECOND_MS) if by_limit and limit_ms else 0.0
            part = weight * of_scale.count / (of_scale.count + GROUP_WEIGHT)
            weight -= part
            bound, shift = ran_log - unit_log, self._shift(group, of_scale)
            if share := of_scale.share_above(bound, shift):
                components.append(_Component(part * share, of_scale, bound, shift, unit_log))
        return components, weight * (1 - self._general_passed(limit_ms, ran_ms))

    def _general_ms(self, limit_ms: int | None, ran_ms: int, random: Random) -> float:
        """Draws from the published distribution; with a limit, evenly up to it (Mu'alem and Feitelson, 2001:
        the shares of their limits that jobs run are spread almost evenly)."""
        if limit_ms is not None:
            return ran_ms + random.random() * (limit_ms - ran_ms)
        return SECOND_MS * exp(drawn_above(self._general(), self._general_passed(None, ran_ms), random))

    def _general_passed(self, limit_ms: int | None, ran_ms: int) -> float:
        """Returns the share of the general distribution up to `ran_ms`."""
        if ran_ms <= 0:
            return 0.0
        if limit_ms is not None:
            return min(1.0, ran_ms / limit_ms)
        return self._general().cdf(log(ran_ms / SECOND_MS))

    def _general(self) -> NormalDist:
        shift = 0.0 if self._seed is None else standard_normal(self._seed, GENERAL_STREAM)
        return NormalDist(LOG_MEAN + shift * LOG_DEVIATION_BETWEEN, LOG_DEVIATION)

    def _shift(self, group: Group, samples: LogSamples) -> float:
        """Returns how much longer jobs of a group run in this future, as a logarithm."""
        if self._seed is None:
            return 0.0
        shift = self._shifts.get(group)
        if shift is None:
            deviation = sqrt(DRIFT**2 + samples.spread**2 / samples.count)
            shared = SHARED_DRIFT * standard_normal(self._seed, SHARED_DRIFT_STREAM)
            shift = shared + Random(f"{self._seed}/run time/{group}").gauss(0, deviation)
            self._shifts[group] = shift
        return shift


def latest_last(past: Iterable[PastJob]) -> Iterator[PastJob]:
    """Yields past jobs in the order in which they ended."""
    return iter(sorted(past, key=lambda p: p.job.submit_ms + (p.waited_ms or 0) + (p.job.run_ms or 0)))
