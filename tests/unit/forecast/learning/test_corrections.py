"""Corrections of estimates: about 80% of the starts are in the ranges, however wrong the simulation is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.forecast.estimate_outcome import EstimateOutcome, SimulatedWait
from muster.forecast.learning.calibration import PAST_MAX, Calibration
from muster.forecast.start_estimates import HORIZON_MS, StartEstimate

HOUR_MS = 3_600_000
SHARES = (0.1, 0.5, 0.9)
NARROW = SimulatedWait(0, HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS)


def outcome(
    wait_ms: int, of: SimulatedWait = NARROW, at_ms: int = 0, *, started: bool = True
) -> EstimateOutcome:
    return EstimateOutcome(at_ms, of, wait_ms, started)


def corrected_ms(past: Sequence[EstimateOutcome], of: SimulatedWait = NARROW) -> list[int]:
    calibration = Calibration(past)
    return [calibration.wait_ms(of, share) for share in SHARES]


@dataclass(frozen=True)
class Case:
    """Logarithms of actual waits, relative to the simulated median, whose spread is simulated as 0.5."""

    deviation: Callable[[Random], float]
    simulated: float = 0.5


CASES: dict[str, Case] = {
    "right": Case(lambda random: random.gauss(0, 0.5)),
    "four times too narrow": Case(lambda random: random.gauss(0, 2)),
    "much too wide": Case(lambda random: random.gauss(0, 0.5), simulated=3),
    "always too early": Case(lambda random: random.gauss(2, 0.5)),
    "always too late": Case(lambda random: random.gauss(-2, 0.5)),
    "certain, but wrong": Case(lambda random: random.gauss(0, 0.7), simulated=0),
    "sometimes much later": Case(lambda random: random.gauss(0, 0.4) + 3 * (random.random() < 0.3)),
}


@pytest.mark.parametrize("name", CASES)
def test_after_some_estimates_about_80_percent_of_the_starts_are_in_the_ranges(name: str) -> None:
    case, random = CASES[name], Random(name)
    within = later = 0
    past: list[EstimateOutcome] = []
    for number in range(400):
        median_ms = HOUR_MS * exp(random.gauss(0, 1))
        low_ms, high_ms = (round(median_ms * exp(sign * 1.28 * case.simulated)) for sign in (-1, 1))
        of = SimulatedWait(0, low_ms, round(median_ms), high_ms)
        wait_ms = round(median_ms * exp(case.deviation(random)))
        if number >= 100:
            low, median, high = corrected_ms(past[-100:], of)
            within += low <= wait_ms <= high
            later += wait_ms > median
        past.append(outcome(wait_ms, of, at_ms=number))
    assert 0.75 <= within / 300 <= 0.90
    assert 0.4 <= later / 300 <= 0.6


def test_without_earlier_estimates_the_range_is_wide() -> None:
    low, median, high = corrected_ms([])
    assert low < NARROW.low_ms < median < NARROW.high_ms < high
    assert median == pytest.approx(NARROW.median_ms, rel=1e-6)


def test_without_earlier_estimates_the_range_is_wide_although_the_futures_agree() -> None:
    low, median, high = corrected_ms([], replace(NARROW, low_ms=2 * HOUR_MS, high_ms=2 * HOUR_MS))
    assert 2 * low < median < high / 2


def test_a_range_that_was_right_becomes_narrower_than_without_earlier_estimates() -> None:
    right = [outcome(round(HOUR_MS * (1.6 + 0.02 * n)), at_ms=n) for n in range(40)]
    low, _, high = corrected_ms(right)
    unlearned_low, _, unlearned_high = corrected_ms([])
    assert unlearned_low < low < high < unlearned_high


def test_an_overdue_job_moves_estimates_back_before_it_starts() -> None:
    """The starts alone would be those of the jobs that started early."""
    early = [outcome(HOUR_MS, at_ms=n) for n in range(10)]
    overdue = [outcome(20 * HOUR_MS, at_ms=n, started=False) for n in range(10)]
    assert corrected_ms([*early, *overdue])[2] > 2 * corrected_ms(early)[2]
    assert corrected_ms([*early, *overdue])[1] > corrected_ms(early)[1]


def test_a_job_that_waits_for_a_moment_says_almost_nothing() -> None:
    new = [outcome(1_000, at_ms=n, started=False) for n in range(20)]
    assert corrected_ms(new) == pytest.approx(corrected_ms([]), rel=0.05)


def test_recent_estimates_count_more() -> None:
    late = [outcome(20 * HOUR_MS, at_ms=n) for n in range(30)]
    punctual = [outcome(2 * HOUR_MS, at_ms=30 + n) for n in range(30)]
    median_ms = [corrected_ms(past)[1] for past in ([*late, *punctual], [*punctual, *late])]
    assert median_ms[0] < 3 * HOUR_MS
    assert median_ms[0] == corrected_ms([*punctual, *late])[1]  # the order is that of their times
    moved = [replace(of, at_ms=of.at_ms - 100) for of in punctual]
    assert corrected_ms([*moved, *late])[1] > 10 * HOUR_MS


def test_estimates_of_jobs_that_had_waited_as_long_count_more() -> None:
    old = replace(NARROW, age_ms=2 * HOUR_MS)
    past = [outcome(8 * HOUR_MS, old, at_ms=n) for n in range(20)]
    past += [outcome(2 * HOUR_MS, at_ms=n) for n in range(20)]
    assert corrected_ms(past, old)[1] > 1.5 * corrected_ms(past)[1]


def test_many_estimates_are_thinned() -> None:
    assert Calibration(outcome(HOUR_MS, at_ms=n) for n in range(50 * PAST_MAX)).count == PAST_MAX
    assert Calibration(outcome(HOUR_MS, at_ms=n) for n in range(PAST_MAX + 1)).count > PAST_MAX // 2 - 1


WAITS = st.integers(0, 2 * HORIZON_MS)
SIMULATED = st.builds(
    lambda age_ms, waits_ms: SimulatedWait(age_ms, *sorted(waits_ms)),
    WAITS,
    st.lists(st.integers(0, HORIZON_MS), min_size=3, max_size=3),
)
OUTCOMES = st.builds(EstimateOutcome, WAITS, SIMULATED, WAITS, st.booleans())


@given(st.lists(OUTCOMES, max_size=30), SIMULATED)
def test_percentiles_are_in_order(past: list[EstimateOutcome], of: SimulatedWait) -> None:
    low, median, high = corrected_ms(past, of)
    assert 0 <= low <= median <= high


@given(st.lists(OUTCOMES, max_size=20), SIMULATED, st.randoms())
def test_the_order_of_earlier_estimates_does_not_matter(
    past: list[EstimateOutcome], of: SimulatedWait, random: Random
) -> None:
    distinct = [replace(estimate, at_ms=n) for n, estimate in enumerate(past)]
    shuffled = random.sample(distinct, len(distinct))
    assert corrected_ms(distinct, of) == corrected_ms(shuffled, of)


def started(*waits_ms: int | None, past: Sequence[EstimateOutcome] = ()) -> StartEstimate:
    return StartEstimate(0, waits_ms, {}, 0, Calibration(past))


@given(st.lists(st.none() | st.integers(0, HORIZON_MS), min_size=1), st.lists(OUTCOMES, max_size=10))
def test_starts_beyond_the_horizon_stay_there(
    waits_ms: list[int | None], past: list[EstimateOutcome]
) -> None:
    estimate = started(*waits_ms, past=past)
    simulated = replace(estimate, calibration=None)
    quantiles = [estimate.quantile_ms(share) for share in SHARES]
    assert all(at_ms is None or at_ms <= HORIZON_MS for at_ms in quantiles)
    pairs = zip(quantiles, (simulated.quantile_ms(share) for share in SHARES), strict=True)
    assert all(at_ms is None for at_ms, without_ms in pairs if without_ms is None)
    bounded = [at_ms for at_ms in quantiles if at_ms is not None]
    assert bounded == sorted(bounded)
    assert quantiles[: len(bounded)] == bounded


def test_outcome_of_an_estimate() -> None:
    estimate = replace(started(60_000, 60_000), now_ms=0, age_ms=5_000)
    simulated = SimulatedWait(5_000, 60_000, 60_000, 60_000)
    assert estimate.outcome(90_000, known_ms=100_000) == EstimateOutcome(0, simulated, 90_000, True)
    assert estimate.outcome(90_000, known_ms=80_000) == EstimateOutcome(0, simulated, 80_000, False)
    assert estimate.outcome(None, known_ms=80_000) == EstimateOutcome(0, simulated, 80_000, False)
