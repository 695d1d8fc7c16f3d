"""Tests of round-robin selection."""

import pytest

from muster.controller.gangs.planned_write import round_robin


@pytest.mark.parametrize(
    ("items", "limit", "expected"),
    [
        pytest.param([], 3, [], id="none"),
        pytest.param(
            ["a1", "a2", "b1"],
            3,
            ["a1", "b1", "a2"],
            id="the second item of a group comes after other groups",
        ),
        pytest.param(["a1", "a2", "a3", "b1"], 2, ["a1", "b1"], id="stops at the limit"),
        pytest.param(["b1", "a1", "a2", "c1"], 4, ["b1", "a1", "c1", "a2"], id="groups are served in order"),
    ],
)
def test_groups_are_served_round_robin(items: list[str], limit: int, expected: list[str]) -> None:
    assert round_robin(items, lambda item: item[0], limit) == expected
