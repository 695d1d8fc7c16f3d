"""Rules of maintenance windows and exclusions, each with a violating and a valid stack."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from settings.load import parse
from settings.model.foundation.cluster import Gke
from settings.model.foundation.maintenance import ROLLING_DAYS, WEEK, Day, Window
from tests.unit.settings.builders import FILE, GOOD, Case, refusal

SOURCE = "(GKE, maintenance windows and exclusions)"
WEEKEND = {"start": "02:00", "hours": 6, "days": ["SA", "SU"]}


def freeze(number: int, **keys: object) -> dict[str, object]:
    """Returns an exclusion of ten days; keys that are None are left out."""
    whole = {
        "name": f"freeze-{number}",
        "start": "2026-12-20T00:00:00Z",
        "end": "2026-12-30T00:00:00Z",
        **keys,
    }
    return {key: value for key, value in whole.items() if value is not None}


def maintained(*exclusions: dict[str, object], **window: object) -> dict[str, Any]:
    """Returns the valid stack with a window at weekends, changed by `window`, and these exclusions."""
    policy = {"window": WEEKEND | window, "exclusions": list(exclusions)}
    return {**GOOD, "muster:cluster": GOOD["muster:cluster"] | {"maintenance": policy}}


BROKEN = [
    Case(
        "too little time",
        maintained(hours=5),
        "muster:cluster.maintenance.window",
        '{"start": "02:00", "hours": 5, "days": ["SA", "SU"]}',
        f"at least 48 hours in any 32 days; this window has 40 {SOURCE}",
        "add days, or raise `hours`",
    ),
    Case(
        "a window shorter than GKE counts",
        maintained(hours=3),
        "muster:cluster.maintenance.window.hours",
        "3",
        "4 or more",
        "raise it",
    ),
    Case(
        "an invalid time of day",
        maintained(start="2am"),
        "muster:cluster.maintenance.window.start",
        '"2am"',
        "a time of day in UTC",
        'write hours and minutes in quotes, such as "02:00"',
    ),
    Case(
        "a date without a time",
        maintained(freeze(1, start="2026-12-20")),
        "muster:cluster.maintenance.exclusions[0].start",
        '"2026-12-20"',
        "a time in UTC",
        'write it in quotes, such as "2026-12-24T00:00:00Z"',
    ),
    Case(
        "two exclusions of one name",
        maintained(freeze(1), freeze(1)),
        "muster:cluster.maintenance.exclusions[1].name",
        '"freeze-1"',
        "a unique name",
        "freeze-1 is already in use; choose another name",
    ),
    Case(
        "four exclusions of all upgrades",
        maintained(*(freeze(number) for number in range(4))),
        "muster:cluster.maintenance.exclusions[3].scope",
        "nothing",
        f"at most 3 exclusions with no-upgrades {SOURCE}",
        "write no-minor-upgrades or no-minor-or-node-upgrades, or remove some",
    ),
    Case(
        "an exclusion that ends before it begins",
        maintained(freeze(1, end="2026-12-19T00:00:00Z")),
        "muster:cluster.maintenance.exclusions[0].end",
        '"2026-12-19T00:00:00Z"',
        "a time after 2026-12-20T00:00:00Z",
        "choose a later one",
    ),
    Case(
        "an exclusion of all upgrades for 100 days",
        maintained(freeze(1, end="2027-03-30T00:00:00Z")),
        "muster:cluster.maintenance.exclusions[0].end",
        '"2027-03-30T00:00:00Z"',
        f"at most 90 days of no-upgrades; this exclusion has 100 {SOURCE}",
        "choose an earlier one, or another scope",
    ),
    Case(
        "an exclusion of all upgrades without end",
        maintained(freeze(1, end=None)),
        "muster:cluster.maintenance.exclusions[0].end",
        "nothing",
        "a time: an exclusion with no-upgrades cannot last until the end of support (GKE, maintenance"
        " windows and exclusions)",
        "add `end`, or choose another scope",
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_stack_that_breaks_a_maintenance_rule_is_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


def test_more_than_20_exclusions_are_refused() -> None:
    minor = [freeze(number, scope="no-minor-upgrades") for number in range(21)]

    assert f"  expected: at most 20 exclusions {SOURCE}\n" in refusal(maintained(*minor))


KEPT: dict[str, dict[str, Any]] = {
    "twelve hours at weekends": maintained(),
    "every day": maintained(hours=4, days=list(WEEK)),
    "three exclusions of all upgrades": maintained(*(freeze(number) for number in range(3))),
    "an exclusion of all upgrades for 90 days": maintained(freeze(1, end="2027-03-20T00:00:00Z")),
    "an exclusion of minor upgrades for 100 days": maintained(
        freeze(1, end="2027-03-30T00:00:00Z", scope="no-minor-upgrades")
    ),
    "an exclusion of minor upgrades without end": maintained(
        freeze(1, end=None, scope="no-minor-or-node-upgrades")
    ),
    "20 exclusions": maintained(*(freeze(number, scope="no-minor-upgrades") for number in range(20))),
}


@pytest.mark.parametrize("config", KEPT.values(), ids=KEPT.keys())
def test_stack_that_keeps_a_maintenance_rule_is_accepted(config: dict[str, Any]) -> None:
    assert isinstance(parse(config, FILE).cluster, Gke)


@given(st.sets(st.sampled_from(WEEK), min_size=1), st.integers(4, 24), st.integers(0, 365))
def test_any_32_days_have_at_least_the_least_hours(days: set[Day], hours: int, first: int) -> None:
    window = Window(start="02:00", hours=hours, days=tuple(days))
    starts = [WEEK[day % 7] for day in range(first, first + ROLLING_DAYS)]

    assert window.least_hours <= hours * sum(day in days for day in starts)
