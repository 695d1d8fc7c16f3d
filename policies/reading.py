"""Reads properties that may be absent, and yields the messages that most rules need."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pulumi_policy.proxy import UnknownValueError

from policies.rule import Resource

TEXT_LIST: dict[str, Any] = {"type": "array", "items": {"type": "string", "minLength": 1}}
"""The schema of a parameter that is a list of texts."""


def pick(value: Any, *path: str) -> Any:
    """Returns the value at the path, or None if any part of it is absent."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def must_be(resource: Resource, path: str, *allowed: object) -> Iterator[str]:
    """Requires one of the `allowed` values at a path such as `nodeConfig.imageType`."""
    value = pick(resource.props, *path.split("."))
    if value not in allowed:
        yield f"set {path} to {' or '.join(map(json.dumps, allowed))}: {_it_is(value)}"


def must_not_be(resource: Resource, path: str, unwanted: object) -> Iterator[str]:
    """Forbids the `unwanted` value at the path, for properties whose default is correct."""
    if pick(resource.props, *path.split(".")) == unwanted:
        yield f"remove {path}: {_it_is(unwanted)}"


def must_have(resource: Resource, path: str) -> Iterator[str]:
    """Requires any value at the path, an empty object included."""
    if pick(resource.props, *path.split(".")) is None:
        yield f"set {path}: it is absent"


def _it_is(value: object) -> str:
    if value is None:
        return "it is absent"
    plain = isinstance(value, (str, int, float))
    return f"it is {json.dumps(value)}" if plain else "it is something else"


def texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yields every known text in a value, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping | Sequence):
        keys = value if isinstance(value, Mapping) else range(len(value))
        for key in keys:
            try:
                inner = value[key]
            except UnknownValueError:
                continue
            yield from texts(inner, f"{path}.{key}" if isinstance(key, str) else f"{path}[{key}]")
