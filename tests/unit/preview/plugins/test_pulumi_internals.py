"""The replaced functions of the SDK change nothing that a program declares."""

from typing import Any

import pytest
from pulumi.runtime import resource_cycle_breaker

from preview.plugins.pulumi_internals import Dependencies


class Thing:
    """Anything that others depend on."""


CASES = {
    "a chain": [("a", "b"), ("b", "c"), ("c", "d")],
    "a chain from its end": [("c", "d"), ("b", "c"), ("a", "b")],
    "itself": [("a", "a")],
    "a cycle of two": [("a", "b"), ("b", "a"), ("a", "c")],
    "a cycle of three": [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")],
    "a cycle that was skipped is none": [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("c", "a")],
    "a diamond": [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "a")],
}


def declared(declare: Any, pairs: list[tuple[str, str]]) -> list[bool]:
    things = {name: Thing() for pair in pairs for name in pair}
    return [declare(things[start], things[end]) for start, end in pairs]


@pytest.mark.parametrize("name", CASES)
def test_dependencies_are_refused_as_by_the_sdk(name: str) -> None:
    slow = declared(resource_cycle_breaker.declare_dependency, CASES[name])
    assert declared(Dependencies().declare, CASES[name]) == slow
