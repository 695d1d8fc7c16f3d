"""The table of names is complete for all properties of clusters and node pools."""

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, get_args, get_origin

import pulumi
from pulumi import _types
from pulumi_gcp import container

from preview.plugins import gke_document
from preview.plugins.gke_names import FIELDS, GO_DURATIONS, PULUMI_ONLY, VALUES


def kinds(annotation: Any) -> tuple[list[str], Any]:
    """Returns nested lists and maps from the outside in, and the type that they contain."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Sequence, Mapping):
        outer, inner = kinds(arguments[-1])
        return [origin.__name__, *outer], inner
    if origin is not None:  # a value, or an Awaitable or Output of one, or a dictionary in its place
        values = [a for a in arguments if a is not NoneType and get_origin(a) in (None, Sequence, Mapping)]
        values = [a for a in values if not (isinstance(a, type) and issubclass(a, (dict, pulumi.Output)))]
        return kinds(values[0])
    return [], annotation


def properties(
    arguments: type, message: str, observed: set[tuple[type, str]]
) -> Iterator[tuple[str, str, Any]]:
    """Yields message, property and annotation of everything that such arguments can contain."""
    if (arguments, message) in observed:
        return
    observed.add((arguments, message))
    for name, annotation in _types.input_type_types(arguments).items():
        yield message, name, annotation
        inner, behind = kinds(annotation)[1], gke_document.field(message, name)
        held = (behind or {}).get("items", behind or {})
        if _types.is_input_type(inner) and "$ref" in held and name not in PULUMI_ONLY.get(message, {}):
            yield from properties(inner, held["$ref"], observed)


def everything() -> list[tuple[str, str, Any]]:
    visited: set[tuple[type, str]] = set()
    return [
        *properties(container.NodePoolArgs, "NodePool", visited),
        *properties(container.ClusterArgs, "Cluster", visited),
    ]


EVERYTHING = everything()
API_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def test_every_property_has_a_field_or_a_reason_to_lack_one() -> None:
    assert len(EVERYTHING) > 500
    lost = [
        f"{message}.{name}"
        for message, name, _ in EVERYTHING
        if name not in PULUMI_ONLY.get(message, {}) and gke_document.field(message, name) is None
    ]
    assert sorted(set(lost)) == []


def test_every_property_has_the_type_of_its_field() -> None:
    wrong = []
    for message, name, annotation in EVERYTHING:
        behind = gke_document.field(message, name)
        if name in PULUMI_ONLY.get(message, {}) or (message, name) in VALUES or behind is None:
            continue
        outer, inner = kinds(annotation)
        held = behind.get("items", behind)
        if outer == ["Mapping"]:
            held = behind.get("additionalProperties", {})
        fits = "$ref" in held if _types.is_input_type(inner) else held.get("type") == API_TYPES[inner]
        if not fits and not (inner is int and held.get("format") in ("int64", "uint64")):
            wrong.append(f"{message}.{name}: {inner} is {held}")
    assert wrong == []


def test_every_name_in_the_tables_is_used() -> None:
    used = {(message, name) for message, name, _ in EVERYTHING}
    tables = [
        *((message, name) for table in (FIELDS, PULUMI_ONLY) for message in table for name in table[message]),
        *VALUES,
        *GO_DURATIONS,
    ]
    assert [entry for entry in tables if entry not in used] == []
