"""Comparison of tried flavors with Kueue's records (mergeFlavorAttemptsForResource)."""

from typing import Any

import pytest

from muster.admission.flavors.assignment import PodSetChoice
from muster.admission.flavors.attempts import FlavorAttempt, FlavorSearch
from muster.admission.flavors.fungibility import BEST, NO_FIT
from tests.conformance.suites.flavors import attempts_of, compare_attempts

GROUPS = [({"one", "two"}, {"cpu"}), ({"two", "three"}, {"memory"})]
TAINTED = "has the taint a=b:NoSchedule, which is not tolerated"


def fits(flavor: str) -> FlavorAttempt:
    return FlavorAttempt(flavor, BEST)


def fenced(flavor: str) -> FlavorAttempt:
    return FlavorAttempt(flavor, NO_FIT, mismatch=TAINTED)


def not_allowed(flavor: str) -> FlavorAttempt:
    return FlavorAttempt(flavor, NO_FIT, mismatch="is not one of those allowed for it", excluded=True)


def tried(**by_resource: list[FlavorAttempt]) -> dict[str, set[tuple[str | int, ...]]]:
    """Returns reasons by flavor."""
    return {flavor: of["reasons"] for flavor, of in attempts_of(choice(by_resource), GROUPS).items()}


def choice(by_resource: dict[str, list[FlavorAttempt]]) -> PodSetChoice:
    chosen = PodSetChoice("main", 1, {})
    for resource, attempts in by_resource.items():
        chosen.searches.append(FlavorSearch(resource, attempts, attempts[-1]))
    return chosen


CASES: dict[str, tuple[dict[str, list[FlavorAttempt]], dict[str, Any]]] = {
    "one search": ({"cpu": [fenced("one"), fits("two")]}, {"one": {("mismatch", "one")}, "two": set()}),
    "an excluded flavor is not recorded": ({"cpu": [not_allowed("one"), fits("two")]}, {"two": set()}),
    "a flavor of both groups, tried for one": (
        {"cpu": [fenced("one"), fits("two")], "memory": [fits("three")]},
        {"one": {("mismatch", "one")}, "two": {("unprovided", "two", "memory")}, "three": set()},
    ),
    "a flavor of both groups, excluded for one": (
        {"cpu": [fits("two")], "memory": [not_allowed("two"), fits("three")]},
        {"two": {("unprovided", "two", "memory")}, "three": set()},
    ),
    "a flavor of both groups, the other without attempts": (
        {"cpu": [fits("two")], "memory": [not_allowed("two")]},
        {"two": set()},
    ),
}


@pytest.mark.parametrize(("searches", "expected"), CASES.values(), ids=CASES)
def test_attempts_are_compared_as_kueue_records_them(
    searches: dict[str, list[FlavorAttempt]], expected: dict[str, Any]
) -> None:
    assert tried(**searches) == expected


def test_a_case_may_list_flavors_after_the_one_that_fits() -> None:
    expected = [
        {"flavor": "one", "mode": "Fit", "borrow": 0},
        {
            "flavor": "two",
            "mode": "NoFit",
            "borrow": 0,
            "reasons": ["flavor two does not provide resource cpu"],
        },
    ]
    compare_attempts(choice({"cpu": [fits("one")]}), expected, GROUPS)
    with pytest.raises(AssertionError):
        compare_attempts(choice({"cpu": [fenced("one")]}), expected, GROUPS)
