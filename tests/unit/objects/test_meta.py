"""Conditions, times and keys."""

import pytest

from muster.objects.meta import Condition, ObjectMeta, find_condition, is_true, millis, rfc3339, set_condition

EARLIER, NOW_MS = "2027-01-15T07:00:00Z", 1_800_000_000_000
NOW = "2027-01-15T08:00:00Z"

TRANSITIONS = {
    "new": ((), True, NOW),
    "same status": ((("True", EARLIER),), True, EARLIER),
    "becomes false": ((("True", EARLIER),), False, NOW),
    "was unknown": ((("Unknown", EARLIER),), False, NOW),
}


@pytest.mark.parametrize("name", TRANSITIONS)
def test_the_transition_time_moves_with_the_status_only(name: str) -> None:
    before, status, wanted_time = TRANSITIONS[name]
    conditions = tuple(
        Condition(type="Ready", status=s, message="old", last_transition_time=t) for s, t in before
    )
    other = Condition(type="Other", status="True")
    changed = set_condition(
        (other, *conditions), "Ready", status=status, reason="Why", message="new", now_ms=NOW_MS
    )
    assert [c.type for c in changed] == ["Other", "Ready"]
    condition = find_condition(changed, "Ready")
    assert condition == Condition(
        type="Ready", status=str(status), reason="Why", message="new", last_transition_time=wanted_time
    )
    assert is_true(changed, "Ready") is status


def test_an_absent_condition_is_not_true() -> None:
    assert find_condition((), "Ready") is None
    assert not is_true((), "Ready")


@pytest.mark.parametrize(
    ("text", "expected"), [(NOW, NOW_MS), ("2027-01-15T08:00:00.250000Z", NOW_MS + 250), ("", 0), (None, 0)]
)
def test_api_times_become_milliseconds(text: str | None, expected: int) -> None:
    assert millis(text) == expected


def test_times_are_formatted_in_whole_seconds_of_utc() -> None:
    assert rfc3339(NOW_MS + 999) == NOW


@pytest.mark.parametrize(("namespace", "key"), [("team-a", "team-a/dev"), ("", "dev")])
def test_a_key_is_namespace_and_name(namespace: str, key: str) -> None:
    assert ObjectMeta(name="dev", namespace=namespace).key == key
