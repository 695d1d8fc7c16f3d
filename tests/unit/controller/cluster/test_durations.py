"""Durations do not depend on wall clocks once the controller has seen their beginning."""

from muster.controller.cluster.durations import Durations


def test_the_first_pass_takes_durations_from_the_objects() -> None:
    durations = Durations()
    durations.turn(1_000)
    assert durations.lasted_ms("must stop", "a", 40_000) == 40_000
    durations.turn(6_000)
    assert durations.lasted_ms("must stop", "a", 3_600_000) == 45_000


def test_a_time_in_the_future_counts_as_now() -> None:
    durations = Durations()
    durations.turn(1_000)
    assert durations.lasted_ms("must stop", "a", -3_600_000) == 0


def test_later_conditions_are_timed_from_the_pass_that_sees_them() -> None:
    durations = Durations()
    durations.turn(1_000)
    durations.turn(2_000)
    assert durations.lasted_ms("must stop", "a", 3_600_000) == 0
    assert durations.lasted_ms("finished", "a", 3_600_000) == 0
    durations.turn(5_000)
    assert durations.lasted_ms("must stop", "a", 0) == 3_000


def test_a_condition_that_ended_is_timed_from_its_next_beginning() -> None:
    durations = Durations()
    durations.turn(1_000)
    durations.lasted_ms("must stop", "a", 0)
    durations.turn(2_000)
    durations.turn(3_000)
    assert durations.lasted_ms("must stop", "a", 0) == 0
