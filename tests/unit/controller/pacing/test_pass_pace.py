"""Tests how soon passes follow each other."""

import pytest

from muster.controller.pacing.rates import (
    DECIDING_SHARE,
    INTERVAL_S,
    INTERVAL_S_MAX,
    PROMPT_PASSES_MAX,
    PassPace,
)


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_few_passes_follow_each_other_at_once_and_then_one_an_interval() -> None:
    clock = Clock()
    pace = PassPace(clock)
    pauses = []
    for _ in range(PROMPT_PASSES_MAX + 3):
        pauses.append(pace.pause_s())
        clock.now_s += pauses[-1]
        pace.begin_pass()
    assert pauses == pytest.approx([0.0] * PROMPT_PASSES_MAX + [INTERVAL_S] * 3)


DECIDING = {
    "little": (0.0001, INTERVAL_S),
    "some, as among a thousand queues": (0.005, DECIDING_SHARE * 0.005),
    "a second, in which many changes arrive anyway": (1.0, INTERVAL_S_MAX),
}


@pytest.mark.parametrize("what", DECIDING)
def test_the_interval_is_longer_where_passes_take_long_to_decide(what: str) -> None:
    """The pause begins with the pass."""
    took_s, interval_s = DECIDING[what]
    clock = Clock()
    pace = PassPace(clock)
    for _ in range(3 * PROMPT_PASSES_MAX):
        clock.now_s += pace.pause_s()
        pace.begin_pass()
        clock.now_s += took_s
        pace.decided()
    assert pace.pause_s() == pytest.approx(max(0.0, interval_s - took_s))


def test_a_pass_that_decides_soon_is_not_held_back_by_long_ones_before() -> None:
    clock = Clock()
    pace = PassPace(clock)
    for took_s in (*(3 * PROMPT_PASSES_MAX * [0.01]), 0.0):
        pace.begin_pass()
        clock.now_s += took_s
        pace.decided()
    assert pace.pause_s() == pytest.approx(INTERVAL_S)


def test_passes_that_take_longer_than_the_interval_are_not_held_back() -> None:
    clock = Clock()
    pace = PassPace(clock)
    for _ in range(100):
        assert pace.pause_s() == 0.0
        pace.begin_pass()
        clock.now_s += INTERVAL_S


def test_after_a_rest_passes_follow_at_once_again() -> None:
    clock = Clock()
    pace = PassPace(clock)
    for _ in range(100):
        pace.begin_pass()
    assert pace.pause_s() > 0
    clock.now_s += 100 * INTERVAL_S
    assert pace.pause_s() == 0.0
