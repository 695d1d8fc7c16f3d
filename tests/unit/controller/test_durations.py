"""How long something has lasted does not depend on wall clocks once it has been seen to begin."""

from muster.controller.durations import Durations


def test_what_the_first_pass_finds_has_lasted_as_its_objects_say() -> None:
    durations = Durations()
    durations.turn(1_000)
    assert durations.lasted_ms("must stop", "a", 40_000) == 40_000
    durations.turn(6_000)
    assert durations.lasted_ms("must stop", "a", 3_600_000) == 45_000


def test_nothing_began_in_the_future() -> None:
    durations = Durations()
    durations.turn(1_000)
    assert durations.lasted_ms("must stop", "a", -3_600_000) == 0


def test_what_begins_later_is_timed_from_then() -> None:
    durations = Durations()
    durations.turn(1_000)
    durations.turn(2_000)
    assert durations.lasted_ms("must stop", "a", 3_600_000) == 0
    assert durations.lasted_ms("finished", "a", 3_600_000) == 0
    durations.turn(5_000)
    assert durations.lasted_ms("must stop", "a", 0) == 3_000


def test_what_was_over_begins_anew() -> None:
    durations = Durations()
    durations.turn(1_000)
    durations.lasted_ms("must stop", "a", 0)
    durations.turn(2_000)
    durations.turn(3_000)
    assert durations.lasted_ms("must stop", "a", 0) == 0
