"""Timers do not depend on wall clocks once the controller has seen their beginning."""

from muster.cluster.timers import MonotonicTimers


def test_the_first_pass_takes_durations_from_the_objects() -> None:
    timers = MonotonicTimers()
    timers.begin_pass(1_000)
    assert timers.elapsed_ms("must stop", "a", 40_000) == 40_000
    timers.begin_pass(6_000)
    assert timers.elapsed_ms("must stop", "a", 3_600_000) == 45_000


def test_a_time_in_the_future_counts_as_now() -> None:
    timers = MonotonicTimers()
    timers.begin_pass(1_000)
    assert timers.elapsed_ms("must stop", "a", -3_600_000) == 0


def test_later_states_are_timed_from_the_pass_that_sees_them() -> None:
    timers = MonotonicTimers()
    timers.begin_pass(1_000)
    timers.begin_pass(2_000)
    assert timers.elapsed_ms("must stop", "a", 3_600_000) == 0
    assert timers.elapsed_ms("finished", "a", 3_600_000) == 0
    timers.begin_pass(5_000)
    assert timers.elapsed_ms("must stop", "a", 0) == 3_000


def test_a_state_that_ended_is_timed_from_its_next_beginning() -> None:
    timers = MonotonicTimers()
    timers.begin_pass(1_000)
    timers.elapsed_ms("must stop", "a", 0)
    timers.begin_pass(2_000)
    timers.begin_pass(3_000)
    assert timers.elapsed_ms("must stop", "a", 0) == 0
