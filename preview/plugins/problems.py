"""What is wrong with a resource's inputs, by its place, in the words of who declared it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pulumi.runtime.proto import provider_pb2

from preview.plugins.differences import Path, property_path
from preview.plugins.values import Secret
from settings.problems import did_you_mean


class Problem(NamedTuple):
    """`given` is empty where the place itself is wrong, and never shows a secret."""

    path: Path
    wrong: str
    given: str = ""

    def __str__(self) -> str:
        return f"{property_path(self.path)}: {self.wrong}" + (f", given {self.given}" if self.given else "")


def unknown_property(path: Path, known: Iterable[str]) -> Problem:
    return Problem(path, f"unknown property; {did_you_mean(str(path[-1]), sorted(known))}")


def concealing(problems: Iterable[Problem]) -> Iterable[Problem]:
    """The problems of a secret value, without the value."""
    return (Problem(p.path, p.wrong, "a secret" if p.given else "") for p in problems)


PRIMITIVES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "text"),
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
    "list": ((list,), "a list"),
}


def expected(kind: str) -> str:
    """What a value of a Python primitive's name, or else of a message or a map, should look like."""
    return PRIMITIVES[kind][1] if kind in PRIMITIVES else "a mapping"


def fits(value: Any, kind: str) -> bool:
    """Whether a value that is no mapping is of that kind. Python's bool is an int, nobody else's is."""
    types, _ = PRIMITIVES.get(kind, ((), ""))
    return isinstance(value, types) and (kind == "bool") == isinstance(value, bool)


def shown(value: Any) -> str:
    """A value as it stands in a message."""
    match value:
        case Secret():
            return "a secret"
        case dict():
            return "a mapping"
        case list():
            return "a list"
    return json.dumps(value)


def check_failures(problems: Iterable[Problem]) -> list[provider_pb2.CheckFailure]:
    """In the engine's form. Without its `property`, or the engine would print that property's value."""
    return [provider_pb2.CheckFailure(reason=str(problem)) for problem in problems]
