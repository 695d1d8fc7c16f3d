"""How soon passes follow each other."""

import pytest

from muster.controller.process.pass_pace import AT_ONCE_MAX, INTERVAL_S, PassPace


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_few_passes_follow_each_other_at_once_and_then_one_an_interval() -> None:
    clock = Clock()
    pace = PassPace(clock)
    pauses = []
    for _ in range(AT_ONCE_MAX + 3):
        pauses.append(pace.pause_s())
        clock.now_s += pauses[-1]
        pace.begin_pass()
    assert pauses == pytest.approx([0.0] * AT_ONCE_MAX + [INTERVAL_S] * 3)


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
