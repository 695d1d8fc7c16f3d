"""Problems in a resource's inputs, by property path in the program's notation."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pulumi.runtime.proto import provider_pb2

from preview.resources.differences import Path, property_path
from preview.resources.values import Secret
from settings.problems import did_you_mean


class PropertyProblem(NamedTuple):
    """A problem; `value` is empty if the property itself is wrong, and never contains a secret."""

    path: Path
    wrong: str
    value: str = ""

    def __str__(self) -> str:
        return f"{property_path(self.path)}: {self.wrong}" + (f", given {self.value}" if self.value else "")


def unknown_property(path: Path, names: Iterable[str]) -> PropertyProblem:
    """Returns the problem of a property that does not exist, with the most similar name."""
    return PropertyProblem(path, f"unknown property; {did_you_mean(str(path[-1]), sorted(names))}")


def concealing(problems: Iterable[PropertyProblem]) -> Iterable[PropertyProblem]:
    """Returns the problems of a secret value, without the value."""
    return (PropertyProblem(p.path, p.wrong, "a secret" if p.value else "") for p in problems)


PRIMITIVES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "text"),
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
    "list": ((list,), "a list"),
}


def expected(kind: str) -> str:
    """Describes the expected value: of a Python primitive, or else of a message or map."""
    return PRIMITIVES[kind][1] if kind in PRIMITIVES else "a mapping"


def fits(value: Any, kind: str) -> bool:
    """Returns whether a value other than a mapping has that kind; unlike in Python, a bool is not an int."""
    types, _ = PRIMITIVES.get(kind, ((), ""))
    return isinstance(value, types) and (kind == "bool") == isinstance(value, bool)


def shown(value: Any) -> str:
    """Formats a value for a message."""
    match value:
        case Secret():
            return "a secret"
        case dict():
            return "a mapping"
        case list():
            return "a list"
    return json.dumps(value)


def check_failures(problems: Iterable[PropertyProblem]) -> list[provider_pb2.CheckFailure]:
    """Returns the engine's failures, without `property`: the engine would print that property's value."""
    return [provider_pb2.CheckFailure(reason=str(problem)) for problem in problems]
