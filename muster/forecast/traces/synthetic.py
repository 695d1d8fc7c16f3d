"""Draws a trace from distributions. The same specification and seed give the same jobs.

Arrivals, kinds of jobs and run times have separate random streams: a change to one does not affect the
others. Jobs are submitted at independent intervals, on a clock that runs faster during busy hours.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice, takewhile
from random import Random
from statistics import NormalDist
from typing import Annotated

import msgspec

from muster.admission import QuantityError, quantities
from muster.forecast.traces import yaml_text
from muster.forecast.traces.rows import Rows
from muster.forecast.traces.trace import Trace, TraceError, TraceJob
from muster.forecast.traces.values import SECOND
from muster.objects.kueue import PODS_MAX
from muster.objects.meta import View

HOUR_MS = 3_600 * SECOND
HOURS_A_WEEK = 7 * 24
DAY_MS, WEEK_MS = 24 * HOUR_MS, HOURS_A_WEEK * HOUR_MS
JOBS_MAX = 10_000_000
DAYS_MAX = 36_500
RUN_DAYS_MAX = 365

Positive = Annotated[float, msgspec.Meta(gt=0)]
Gang = Annotated[int, msgspec.Meta(ge=1, le=PODS_MAX)]


class Profile(View, forbid_unknown_fields=True):
    """A kind of job."""

    queue: str
    requests: Annotated[dict[str, str | int | float], msgspec.Meta(min_length=1)]  # of one pod
    # Run times are lognormal, truncated at the maximum; sigma is the standard deviation of the logarithm.
    run_median_seconds: Positive
    run_sigma: Annotated[float, msgspec.Meta(ge=0, le=10)] = 1.0
    run_max_seconds: Positive = RUN_DAYS_MAX * 86_400.0
    priority_class: str = ""
    weight: Positive = 1.0  # frequency, relative to the other profiles
    # Weight by number of pods.
    gangs: Annotated[dict[Gang, Positive], msgspec.Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: {1: 1.0}
    )
    users: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1


class OfferedLoad(View, forbid_unknown_fields=True):
    """The average share of a capacity that the jobs use, such as 0.8 of 64 GPUs."""

    share: Positive
    capacity: Positive
    resource: str = "nvidia.com/gpu"


class Specification(View, forbid_unknown_fields=True):
    """A trace to draw. Two of `jobs`, `days` and `load` determine the arrival rate and the length."""

    profiles: Annotated[tuple[Profile, ...], msgspec.Meta(min_length=1)]
    jobs: Annotated[int, msgspec.Meta(ge=1, le=JOBS_MAX)] | None = None
    days: Annotated[float, msgspec.Meta(gt=0, le=DAYS_MAX)] | None = None
    load: OfferedLoad | None = None
    # Shape of the Weibull intervals: 1 is a Poisson process, 0.7 has the bursts of GPU clusters.
    shape: Annotated[float, msgspec.Meta(ge=0.3, le=10)] = 1.0
    # Weights of the 24 hours of a day.
    hours: Annotated[tuple[Positive, ...], msgspec.Meta(min_length=24, max_length=24)] = (1.0,) * 24
    weekend: Positive = 1.0  # factor for days 6 and 7


def from_yaml(text: str, source: str) -> Specification:
    """Parses a specification in YAML."""
    return yaml_text.decode(text, Specification, source, "see examples/traces/three-teams.yaml")


def generate(specification: Specification, seed: int) -> Trace:
    """Draws the trace of a specification and seed."""
    kinds = [_Kind(profile) for profile in specification.profiles]
    cumulative = list(accumulate(kind.profile.weight for kind in kinds))
    choices, runs = Random(f"{seed}/kinds"), Random(f"{seed}/runs")
    rows = Rows(f"synthetic, seed {seed}")
    for index, submit_ms in enumerate(_arrivals(specification, kinds, Random(f"{seed}/arrivals"))):
        kind = choices.choices(kinds, cum_weights=cumulative)[0]
        rows.jobs.append(kind.job(index, round(submit_ms / SECOND) * SECOND, choices, runs))
    return rows.trace()


class _Kind:
    """A profile, prepared for drawing jobs."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.requests = _requests(profile)
        self._gangs = list(profile.gangs)
        self._gang_weights = list(accumulate(profile.gangs.values()))
        self._users = [f"{profile.queue}-user-{number}" for number in range(1, profile.users + 1)]
        self._user_weights = list(accumulate(1 / number for number in range(1, profile.users + 1)))
        self._mu = math.log(profile.run_median_seconds)

    def job(self, index: int, submit_ms: int, choices: Random, runs: Random) -> TraceJob:
        """Draws a job."""
        profile = self.profile
        run_seconds = min(runs.lognormvariate(self._mu, profile.run_sigma), profile.run_max_seconds)
        return TraceJob(
            f"{profile.queue}-{index:05d}",
            submit_ms,
            max(round(run_seconds), 1) * SECOND,
            choices.choices(self._gangs, cum_weights=self._gang_weights)[0],
            self.requests,
            profile.queue,
            profile.priority_class,
            choices.choices(self._users, cum_weights=self._user_weights)[0],
        )

    def work(self, resource: str) -> float:
        """Returns the expected product of pods, a pod's request in whole units, and run time in seconds."""
        units = self.requests.get(resource, 0) / (quantities.MILLI if resource == quantities.CPU else 1)
        pods = sum(n * weight for n, weight in self.profile.gangs.items()) / self._gang_weights[-1]
        return pods * units * self._mean_run_seconds()

    def _mean_run_seconds(self) -> float:
        """Returns the mean of the lognormal distribution truncated at the maximum run time."""
        longest, sigma = self.profile.run_max_seconds, self.profile.run_sigma
        if sigma == 0:
            return min(self.profile.run_median_seconds, longest)
        z = (math.log(longest) - self._mu) / sigma
        below = math.exp(self._mu + sigma**2 / 2) * NormalDist().cdf(z - sigma)
        return below + longest * (1 - NormalDist().cdf(z))


def _arrivals(specification: Specification, kinds: Sequence[_Kind], random: Random) -> Iterator[float]:
    week = week_of(specification.hours, specification.weekend)
    submissions = arrival_times(random, _interval_ms(specification, kinds), specification.shape, week)
    if specification.jobs is not None:
        return islice(submissions, specification.jobs)
    end_ms = (specification.days or 0) * DAY_MS
    return islice(takewhile(lambda time: time < end_ms, submissions), JOBS_MAX)


def _interval_ms(specification: Specification, kinds: Sequence[_Kind]) -> float:
    """Returns the mean time between submissions, from two of jobs, days and load."""
    jobs, days, load = specification.jobs, specification.days, specification.load
    if sum(value is not None for value in (jobs, days, load)) != 2:
        raise TraceError("a synthetic trace: expected exactly two of jobs, days and load")
    if load is None:
        return (days or 0) * DAY_MS / (jobs or 1)
    weights = [kind.profile.weight for kind in kinds]
    work = sum(kind.work(load.resource) * weight for kind, weight in zip(kinds, weights, strict=True)) / sum(
        weights
    )
    if not work:
        raise TraceError(f"a synthetic trace: load of {load.resource}, which no profile requests")
    interval_ms = work / (load.share * load.capacity) * SECOND
    if not interval_ms <= DAYS_MAX * DAY_MS:
        raise TraceError(
            f"a synthetic trace: a load of {load.share:g} is less than a job in {DAYS_MAX:,} days"
        )
    return interval_ms


def _requests(profile: Profile) -> Mapping[str, int]:
    try:
        return {resource: quantities.parse(resource, text) for resource, text in profile.requests.items()}
    except QuantityError as problem:
        raise TraceError(f"a synthetic trace: profile of {profile.queue}: {problem}") from problem


def week_of(hours: Sequence[float], weekend: float) -> tuple[float, ...]:
    """Returns the rate of each hour of a week, 1 on average, from the rates of a day's hours and a factor for
    days 6 and 7."""
    rates = [rate * (weekend if day >= 5 else 1.0) for day in range(7) for rate in hours]
    mean = sum(rates) / len(rates)
    return tuple(rate / mean for rate in rates)


def arrival_times(random: Random, mean_ms: float, shape: float, week: Sequence[float]) -> Iterator[float]:
    """Yields an infinite series of times, starting at 0. Intervals are Weibull distributed (shape 1: a
    Poisson process; below 1: bursts) with mean `mean_ms`; the rates of the week then stretch and compress
    them, hour by hour."""
    scale = mean_ms / math.gamma(1 + 1 / shape)
    hour, left_ms = 0, float(HOUR_MS)  # in this hour
    while True:
        weeks, interval_ms = divmod(random.weibullvariate(scale, shape), WEEK_MS)
        hour += int(weeks) * HOURS_A_WEEK  # the average rate of a full week is 1
        while (passed_ms := interval_ms / _rate(week, hour)) > left_ms:
            interval_ms -= left_ms * _rate(week, hour)
            hour, left_ms = hour + 1, float(HOUR_MS)
        left_ms -= passed_ms
        yield (hour + 1) * HOUR_MS - left_ms


def _rate(week: Sequence[float], hour: int) -> float:
    return week[hour % HOURS_A_WEEK]
