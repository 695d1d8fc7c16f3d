"""Checks inputs of clusters and node pools against GKE's API description.

The document is part of google-api-python-client (container v1beta1). It has names, types and enum values,
but not which fields are required or exclude each other; the settings' rules check that.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

# The client ships no types.
from googleapiclient.discovery_cache import get_static_doc  # type: ignore[import-untyped]

from preview.plugins.gke_names import FIELDS, GO_DURATIONS, PULUMI_ONLY, VALUES
from preview.plugins.problems import PropertyProblem, concealing, expected, fits, shown, unknown_property
from preview.resources.differences import Path
from preview.resources.values import UNKNOWN, Secret

MESSAGES: Mapping[str, str] = {
    "gcp:container/cluster:Cluster": "Cluster",
    "gcp:container/nodePool:NodePool": "NodePool",
}
"""The API message of a resource, by Pulumi's type."""

Field = Mapping[str, Any]  # its description in the discovery document
_FORMATS: Mapping[str | None, tuple[re.Pattern[str], str]] = {
    "int64": (re.compile(r"-?\d+"), "a whole number"),
    "google-duration": (re.compile(r"\d+(\.\d+)?s"), "seconds, such as 3600s"),
    "google-datetime": (
        re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"),
        "a time, such as 2027-01-31T09:00:00Z",
    ),
}
_KINDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list"}


@cache
def schemas() -> Mapping[str, Field]:
    """Returns every message of the API by name."""
    document: dict[str, Any] = json.loads(get_static_doc("container", "v1beta1"))
    by_name: Mapping[str, Field] = document["schemas"]
    return by_name


def field(message: str, name: str) -> Field | None:
    """Returns the API field of a property, None if there is none."""
    here: Field = {"$ref": message}
    for step in FIELDS.get(message, {}).get(name, name).split("."):
        if step == "*":
            here = here["additionalProperties"]
        elif step in schemas()[here["$ref"]]["properties"]:
            here = schemas()[here["$ref"]]["properties"][step]
        else:
            return None
    return here


def problems(message: str, value: Mapping[str, Any], at: Path = ()) -> Iterator[PropertyProblem]:
    """Yields properties that have no field, a wrong type or an unknown enum value."""
    for name, item in value.items():
        if name in PULUMI_ONLY.get(message, {}) or name.startswith("__"):
            continue
        behind = field(message, name)
        if behind is None:
            names = {*schemas()[message]["properties"], *FIELDS.get(message, {})}
            yield unknown_property((*at, name), names)
        elif words := VALUES.get((message, name)):
            yield from _word(item, list(words), (*at, name))
        elif (message, name) not in GO_DURATIONS:
            yield from _in_value(item, behind, (*at, name))


def _in_value(value: Any, behind: Field, at: Path) -> Iterator[PropertyProblem]:
    if value is None or value == UNKNOWN:
        return
    match value:
        case Secret():
            yield from concealing(_in_value(value.value, behind, at))
        case list():
            # Terraform has a list of at most one entry for some fields that are a single message in the API.
            for index, item in enumerate(value):
                yield from _in_value(item, behind.get("items", behind), (*at, index))
        case dict() if "$ref" in behind:
            yield from problems(behind["$ref"], value, at)
        case dict() if "additionalProperties" in behind:
            for key, item in value.items():
                yield from _in_value(item, behind["additionalProperties"], (*at, key))
        case _ if "enum" in behind:
            yield from _word(value, behind["enum"], at)
        case _:
            yield from _plain(value, behind, at)


def _word(value: Any, words: list[str], at: Path) -> Iterator[PropertyProblem]:
    if value not in words and value != UNKNOWN:
        # The API accepts its value for "unset", but messages must not suggest it.
        suggested = [word for word in words if not word.endswith("UNSPECIFIED")]
        yield PropertyProblem(at, f"expected one of {', '.join(suggested)}", shown(value))


def _plain(value: Any, behind: Field, at: Path) -> Iterator[PropertyProblem]:
    kind, form = _KINDS.get(behind.get("type", ""), "message"), behind.get("format")
    if form == "int64" and fits(value, "int"):
        return  # a string in the API only because JSON numbers cannot hold an int64
    pattern, description = _FORMATS.get(form) or (None, expected(kind))
    if not fits(value, kind) or (pattern and not pattern.fullmatch(value)):
        yield PropertyProblem(at, f"expected {description}", shown(value))
