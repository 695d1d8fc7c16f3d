"""The number of explanations per pass, and when the next ones are due."""

import pytest

from muster.controller.pacing.rates import (
    EXPLAIN_BURST,
    EXPLAIN_BUSY_PER_S,
    EXPLAIN_PER_S,
    EXPLAINED_MAX,
    REFRESH_BUSY_MS,
    REFRESH_MS,
    ExplanationRate,
)
from muster.controller.passes.explanations import Explained, ExplanationLimits
from tests.unit.admission.builders import NOW_MS


@pytest.mark.parametrize(("calm_ms", "per_s"), [(0, EXPLAIN_PER_S), (60_000, EXPLAIN_BUSY_PER_S)])
def test_new_reasons_are_explained_promptly_within_a_burst_and_a_rate(calm_ms: int, per_s: int) -> None:
    rate, passes = ExplanationRate(), EXPLAIN_BURST // EXPLAINED_MAX
    for _ in range(passes - 1):
        assert rate.limits(0) == ExplanationLimits(EXPLAINED_MAX, EXPLAINED_MAX)
        assert rate.record(Explained(new=EXPLAINED_MAX, new_left=True), 0, NOW_MS, calm_ms) == 0
    due_ms = EXPLAIN_BUSY_PER_S * 1000 // per_s
    assert rate.record(Explained(new=EXPLAINED_MAX, new_left=True), 0, NOW_MS, calm_ms) == due_ms
    assert rate.limits(0).new == 0
    assert rate.limits(due_ms).new == EXPLAIN_BUSY_PER_S
    assert rate.limits(1000).new == per_s


def test_more_is_due_at_the_end_of_the_load() -> None:
    rate = ExplanationRate()
    assert rate.record(Explained(new=EXPLAIN_BURST, new_left=True), 0, NOW_MS, calm_ms=700) == 700
    rate.record(Explained(new_left=True), 700, NOW_MS, calm_ms=700)
    assert rate.limits(1700).new == EXPLAINED_MAX


def test_numbers_are_refreshed_at_their_interval_which_is_longer_under_load() -> None:
    for calm_ms, interval_ms in ((0, REFRESH_MS), (2000, REFRESH_BUSY_MS)):
        rate = ExplanationRate()
        numbers = Explained(again=EXPLAINED_MAX, again_ms=NOW_MS + 1)
        assert rate.record(numbers, 0, NOW_MS, calm_ms) == interval_ms
        assert rate.limits(interval_ms - 1).again == 0
        assert rate.limits(interval_ms).again == EXPLAINED_MAX


def test_nothing_is_due_when_all_is_explained() -> None:
    assert ExplanationRate().record(Explained(new=1), 0, NOW_MS, calm_ms=0) is None
