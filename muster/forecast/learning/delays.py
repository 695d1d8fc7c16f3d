"""Delays between quota and running pods: learned by flavor and queue, and wide where nothing was learned.

A delay is lognormal. Its median is uncertain: `shared` shifts all delays of a future alike."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import exp, hypot, log, sqrt
from random import Random
from statistics import NormalDist

from muster.forecast.learning.normal_draws import drawn_above
from muster.forecast.learning.past_job import PastJob

WEIGHT = 2.0
"""The number of past delays of a queue or flavor that counts as much as the delays of all others."""

ROUNDING_S = 0.5
"""Conditions record whole seconds."""

MEASURED_S_MIN = 0.5


@dataclass(frozen=True, slots=True)
class Delay:
    """A lognormal delay."""

    median_s: float
    spread: float  # standard deviation of its logarithm
    shared: float = 0.0  # standard deviation of the logarithm of its median
    count: int = 0  # number of past delays that it was learned from

    @property
    def range_s(self) -> tuple[float, float]:
        """The 10th and 90th percentile."""
        factor = exp(NormalDist().inv_cdf(0.9) * hypot(self.spread, self.shared))
        return self.median_s / factor, self.median_s * factor

    def drawn_ms(self, random: Random, shift: float, passed_ms: int = 0) -> int:
        """Draws a delay, given that `passed_ms` of it have passed; `shift` is the future's, in units of
        `shared`."""
        log_median = log(self.median_s) + shift * self.shared
        if passed_ms <= 0 or not self.spread:
            return max(passed_ms, round(1000 * exp(random.gauss(log_median, self.spread))))
        normal = NormalDist(log_median, self.spread)
        drawn = drawn_above(normal, normal.cdf(log(passed_ms / 1000)), random)
        return max(passed_ms, round(1000 * exp(drawn)))


@dataclass(frozen=True, slots=True)
class DelayTable:
    """Delays by the name of a queue or flavor; the others have the delay `other`."""

    other: Delay
    by_name: Mapping[str, Delay] = field(default_factory=dict)

    def of(self, name: str) -> Delay:
        """Returns the delay of a queue or flavor."""
        return self.by_name.get(name, self.other)


UNLEARNED_START_UP = DelayTable(Delay(20, 0.8, 1.1))
UNLEARNED_PROVISIONING = DelayTable(Delay(300, 1.0, 1.0))
"""Delays of clusters without history: gangs start within 4 s to 2 minutes, nodes within 1 to 30 minutes."""

TERMINATION = DelayTable(Delay(5, 0.7))
CLEANUP = DelayTable(Delay(3, 0.9))


@dataclass(frozen=True, slots=True)
class Delays:
    """Delays that differ from the assumptions of a simulation; None: as assumed."""

    start_up: DelayTable | None = None  # by queue
    provisioning: DelayTable | None = None  # by flavor
    termination: DelayTable | None = None
    cleanup: DelayTable | None = None

    def without(self, assumed: Collection[str]) -> "Delays":
        """Returns the delays that are not among these assumptions, which a user has set."""
        return replace(
            self,
            start_up=None if "start_up_s" in assumed else self.start_up,
            provisioning=None if "provisioning_median_s" in assumed else self.provisioning,
            termination=None if "termination_s" in assumed else self.termination,
            cleanup=None if "cleanup_s" in assumed else self.cleanup,
        )


AS_ASSUMED = Delays()


def learned_delays(past: Iterable[PastJob]) -> Delays:
    """Returns the delays of past jobs."""
    start_up: dict[str, list[float]] = defaultdict(list)
    provisioning: dict[str, list[float]] = defaultdict(list)
    for past_job in past:
        if past_job.start_up_ms is not None:
            start_up[past_job.job.queue].append(_measured_s(past_job.start_up_ms))
        if past_job.provisioning_ms is not None:
            provisioning[past_job.flavor].append(_measured_s(past_job.provisioning_ms))
    return Delays(
        _table(start_up, UNLEARNED_START_UP.other),
        _table(provisioning, UNLEARNED_PROVISIONING.other),
        TERMINATION,
        CLEANUP,
    )


def _measured_s(delay_ms: int) -> float:
    return max(MEASURED_S_MIN, delay_ms / 1000 + (ROUNDING_S if delay_ms % 1000 == 0 else 0))


def _table(by_name: Mapping[str, list[float]], unlearned: Delay) -> DelayTable:
    every = _updated(unlearned, [delay for delays in by_name.values() for delay in delays])
    return DelayTable(every, {name: _updated(every, delays) for name, delays in by_name.items()})


def _updated(prior: Delay, delays_s: list[float]) -> Delay:
    """Returns the delay after these were observed; `prior` counts as much as WEIGHT of them."""
    if not delays_s:
        return prior
    logs, total = [log(delay) for delay in delays_s], len(delays_s) + WEIGHT
    # the observed median outweighs a prior that is very uncertain
    certainty = WEIGHT / (1 + prior.shared**2 / max(prior.spread, 0.1) ** 2)
    mean = (sum(logs) + certainty * log(prior.median_s)) / (len(logs) + certainty)
    squares = sum((value - mean) ** 2 for value in logs)
    spread = sqrt((squares + WEIGHT * prior.spread**2) / total)
    return Delay(exp(mean), spread, spread / sqrt(len(logs) + certainty), len(delays_s))
