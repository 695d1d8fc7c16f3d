"""Tests of taking turns."""

import pytest

from muster.controller.passes.turns import by_turns


@pytest.mark.parametrize(
    ("items", "most", "expected"),
    [
        pytest.param([], 3, [], id="none"),
        pytest.param(["a1", "a2", "b1"], 3, ["a1", "b1", "a2"], id="a second one comes after others"),
        pytest.param(["a1", "a2", "a3", "b1"], 2, ["a1", "b1"], id="at most so many"),
        pytest.param(["b1", "a1", "a2", "c1"], 4, ["b1", "a1", "c1", "a2"], id="turns come in order"),
    ],
)
def test_items_come_by_turns(items: list[str], most: int, expected: list[str]) -> None:
    assert by_turns(items, lambda item: item[0], most) == expected
