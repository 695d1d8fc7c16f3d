"""Rules of maintenance windows and exclusions: each broken, with the whole message, and each kept."""

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
    """An exclusion of ten days; a key that is None is left out."""
    whole = {
        "name": f"freeze-{number}",
        "start": "2026-12-20T00:00:00Z",
        "end": "2026-12-30T00:00:00Z",
        **keys,
    }
    return {key: value for key, value in whole.items() if value is not None}


def maintained(*exclusions: dict[str, object], **window: object) -> dict[str, Any]:
    """The good stack with a window at weekends, changed by `window`, and these exclusions."""
    policy = {"window": WEEKEND | window, "exclusions": list(exclusions)}
    return {**GOOD, "muster:cluster": GOOD["muster:cluster"] | {"maintenance": policy}}


BROKEN = [
    Case(
        "too little time",
        maintained(hours=5),
        "muster:cluster.maintenance.window",
        '{"start": "02:00", "hours": 5, "days": ["SA", "SU"]}',
        f"48 hours or more in any 32 days; this gives 40 {SOURCE}",
        "add days, or raise `hours`",
    ),
    Case(
        "a window that GKE does not count",
        maintained(hours=3),
        "muster:cluster.maintenance.window.hours",
        "3",
        "4 or more",
        "raise it",
    ),
    Case(
        "no time of day",
        maintained(start="2am"),
        "muster:cluster.maintenance.window.start",
        '"2am"',
        "a time of day in UTC",
        'write hours and minutes in quotes, such as "02:00"',
    ),
    Case(
        "no time at all",
        maintained(freeze(1, start="2026-12-20")),
        "muster:cluster.maintenance.exclusions[0].start",
        '"2026-12-20"',
        "a time in UTC",
        'write it in quotes, such as "2026-12-24T00:00:00Z"',
    ),
    Case(
        "two of a name",
        maintained(freeze(1), freeze(1)),
        "muster:cluster.maintenance.exclusions[1].name",
        '"freeze-1"',
        "a name of its own",
        "freeze-1 is taken already; choose another name",
    ),
    Case(
        "four without any upgrade",
        maintained(*(freeze(number) for number in range(4))),
        "muster:cluster.maintenance.exclusions[3].scope",
        "nothing",
        f"3 exclusions with no-upgrades at most {SOURCE}",
        "write no-minor-upgrades or no-minor-or-node-upgrades, or remove those that are over",
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
        "no upgrades for a hundred days",
        maintained(freeze(1, end="2027-03-30T00:00:00Z")),
        "muster:cluster.maintenance.exclusions[0].end",
        '"2027-03-30T00:00:00Z"',
        f"90 days of no-upgrades at most; these are 100 {SOURCE}",
        "choose an earlier one, or another scope",
    ),
    Case(
        "no upgrades without end",
        maintained(freeze(1, end=None)),
        "muster:cluster.maintenance.exclusions[0].end",
        "nothing",
        f"a time: an exclusion with no-upgrades can't last until the end of support {SOURCE}",
        "add `end`, or choose another scope",
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_broken(case: Case) -> None:
    assert refusal(case.config) == case.message


def test_more_exclusions_than_gke_keeps() -> None:
    minor = [freeze(number, scope="no-minor-upgrades") for number in range(21)]

    assert f"  expected: 20 exclusions at most {SOURCE}\n" in refusal(maintained(*minor))


KEPT: dict[str, dict[str, Any]] = {
    "twelve hours at weekends": maintained(),
    "every day": maintained(hours=4, days=list(WEEK)),
    "three without any upgrade": maintained(*(freeze(number) for number in range(3))),
    "ninety days without any upgrade": maintained(freeze(1, end="2027-03-20T00:00:00Z")),
    "a hundred days without minor ones": maintained(
        freeze(1, end="2027-03-30T00:00:00Z", scope="no-minor-upgrades")
    ),
    "no minor ones while the version is supported": maintained(
        freeze(1, end=None, scope="no-minor-or-node-upgrades")
    ),
    "twenty": maintained(*(freeze(number, scope="no-minor-upgrades") for number in range(20))),
}


@pytest.mark.parametrize("config", KEPT.values(), ids=KEPT.keys())
def test_kept(config: dict[str, Any]) -> None:
    assert isinstance(parse(config, FILE).cluster, Gke)


@given(st.sets(st.sampled_from(WEEK), min_size=1), st.integers(4, 24), st.integers(0, 365))
def test_any_32_days_have_the_least_hours(days: set[Day], hours: int, first: int) -> None:
    window = Window(start="02:00", hours=hours, days=tuple(days))
    starts = [WEEK[day % 7] for day in range(first, first + ROLLING_DAYS)]

    assert window.least_hours <= hours * sum(day in days for day in starts)
