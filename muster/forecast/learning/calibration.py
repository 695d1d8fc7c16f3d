"""Corrections of estimated starts by the errors of earlier estimates: conformal prediction.

The score of an earlier estimate says where the start was relative to its range, in logarithms of waits: 0 at
the median, positive after it, in units of the length of the range on that side. Each quantile of a new
estimate is moved to the same quantile of the scores (Romano, Patterson and Candès, "Conformalized quantile
regression", 2019), so that ranges which were too narrow become wider, and a bias is removed. Estimates that
are recent, or of jobs that had waited as long, count more (Barber, Candès, Ramdas and Tibshirani, "Conformal
prediction beyond exchangeability", 2023).
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, exp, log

from muster.forecast.estimate_outcome import EstimateOutcome, SimulatedWait

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS

NEGLIGIBLE_S = 10.0
"""Waits are compared with this addition, as a difference of seconds does not matter."""

MODEL_LOG = 2.0
"""Addition to the length of a range on each side, as the logarithm of a factor: simulated futures do not
include all rules and later events, so that they may agree and be wrong."""

PRIOR_SCORE = 0.4
"""Without earlier estimates, 80% of the scores are expected between the negative of this and this: where the
futures agree, the start may be twice as far away as they say, or half as far."""

PRIOR_WEIGHT = 5.0
"""The number of earlier estimates that count as much as that expectation. Waits of the same days deviate
together, so that a few estimates say little."""

OTHER_AGE_WEIGHT = 0.3
"""The weight of an estimate of a job that had waited for another time (AGES_MS)."""

AGES_MS = (MINUTE_MS, HOUR_MS, 6 * HOUR_MS)

HALF_LIFE = 1 / 3
"""The share of the earlier estimates that are more recent than one which counts half."""

PAST_MAX = 200
"""Largest number of earlier estimates that count: if there are more, every n-th does."""

SCORE_MAX = 20.0
WAIT_LOG_MAX = log(10 * 365 * 24 * 3600.0)
BISECTIONS = 40


@dataclass(frozen=True, slots=True)
class _Score:
    value: float
    weight: float
    is_exact: bool  # else it is a lower bound: the job has not started
    age_group: int


class Calibration:
    """The scores of earlier estimates."""

    def __init__(self, past: Iterable[EstimateOutcome] = ()) -> None:
        in_order = sorted(past, key=lambda estimate: -estimate.at_ms)
        thinned = in_order[:: ceil(len(in_order) / PAST_MAX) or 1]
        self._scores = [
            _Score(
                _score(of.simulated, of.wait_ms),
                0.5 ** (rank / (HALF_LIFE * len(thinned))),
                of.has_started,
                age_group(of.simulated.age_ms),
            )
            for rank, of in enumerate(thinned)
        ]
        self._quantiles: dict[tuple[int, float], float] = {}

    @property
    def count(self) -> int:
        """The number of earlier estimates that count."""
        return len(self._scores)

    def wait_ms(self, simulated: SimulatedWait, share: float) -> int:
        """Returns the corrected quantile `share` of the time until the start."""
        score = self._quantile(age_group(simulated.age_ms), share)
        wait_log = _log(simulated.median_ms) + score * _unit(simulated, is_later=score > 0)
        return max(0, round(SECOND_MS * (exp(min(wait_log, WAIT_LOG_MAX)) - NEGLIGIBLE_S)))

    def _quantile(self, age_group: int, share: float) -> float:
        """Returns the quantile of the scores, by bisection."""
        quantile = self._quantiles.get((age_group, share))
        if quantile is None:
            low, high = -SCORE_MAX, SCORE_MAX
            for _ in range(BISECTIONS):
                middle = (low + high) / 2
                low, high = (middle, high) if self._share(age_group, middle) < share else (low, middle)
            quantile = self._quantiles[age_group, share] = (low + high) / 2
        return quantile

    def _share(self, age_group: int, bound: float) -> float:
        """Returns the share of the scores up to a bound. A job that has not started yet has the expected
        distribution above its score."""
        expected = _expected_share(bound)
        total, below = PRIOR_WEIGHT, PRIOR_WEIGHT * expected
        for score in self._scores:
            weight = score.weight * (1.0 if score.age_group == age_group else OTHER_AGE_WEIGHT)
            total += weight
            if score.value > bound:
                continue
            passed = 0.0 if score.is_exact else _expected_share(score.value)
            below += weight if score.is_exact else weight * (expected - passed) / (1 - passed)
        return below / total


def _score(simulated: SimulatedWait, wait_ms: int) -> float:
    deviation = _log(wait_ms) - _log(simulated.median_ms)
    score = deviation / _unit(simulated, is_later=deviation > 0)
    return min(max(score, -SCORE_MAX), SCORE_MAX)


def _unit(simulated: SimulatedWait, *, is_later: bool) -> float:
    """Returns the length of one side of the range."""
    end_ms = simulated.high_ms if is_later else simulated.low_ms
    return abs(_log(end_ms) - _log(simulated.median_ms)) + MODEL_LOG


def _log(wait_ms: int) -> float:
    return log(max(0, wait_ms) / SECOND_MS + NEGLIGIBLE_S)


def _expected_share(score: float) -> float:
    """Returns the share of the expected distribution up to a score."""
    tail = 0.5 * 5 ** (-abs(score) / PRIOR_SCORE)  # Laplace's
    return tail if score < 0 else 1 - tail


def age_group(age_ms: int) -> int:
    """Returns the number of the group of jobs that have waited for about as long."""
    return bisect_left(AGES_MS, age_ms)
