"""The file of properties whose change recreates a resource: its version, and its generation from a schema."""

import json
from importlib.metadata import version
from typing import Any

import pytest

from preview.plugins.gcp_replacements import FILE
from tools.gcp_replacements import locked_version, replacements

MARKED, PLAIN = {"type": "string", "willReplaceOnChanges": True}, {"type": "string"}


def of(token: str, **fields: Any) -> dict[str, Any]:
    """A property of an object type."""
    return {"$ref": f"#/types/{token}", **fields}


TYPES: dict[str, Any] = {
    "all": {"properties": {"a": MARKED, "b": MARKED}},
    "some": {"properties": {"a": MARKED, "b": PLAIN}},
    "none": {"properties": {"a": PLAIN}},
    "itself": {"properties": {"inner": of("itself"), "a": MARKED}},
}
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a marked property": ({"name": MARKED, "labels": PLAIN}, ["name"]),
    "a marked list of texts": (
        {"scopes": {"type": "array", "items": {"type": "string"}, "willReplaceOnChanges": True}},
        ["scopes"],
    ),
    "an object with only marked properties": ({"gpu": of("all", willReplaceOnChanges=True)}, ["gpu"]),
    "an object with some marked properties": (
        {"disk": of("some", willReplaceOnChanges=True)},
        ["disk#", "disk.a"],
    ),
    "an object that is marked as a whole": ({"sandbox": of("none", willReplaceOnChanges=True)}, ["sandbox#"]),
    "an unmarked object": ({"network": of("some")}, ["network.a"]),
    "a list of objects": ({"gpus": {"type": "array", "items": of("some")}}, ["gpus.a"]),
    "a map of objects": ({"pools": {"type": "object", "additionalProperties": of("some")}}, ["pools.a"]),
    "a type that contains itself": ({"tree": of("itself")}, ["tree.a"]),
}


@pytest.mark.parametrize(("properties", "paths"), CASES.values(), ids=CASES)
def test_marked_properties_become_paths(properties: dict[str, Any], paths: list[str]) -> None:
    schema = {"resources": {"gcp:a/b:B": {"inputProperties": properties}}, "types": TYPES}
    assert replacements(schema) == {"gcp:a/b:B": paths}


def test_a_resource_without_marked_properties_has_no_entry() -> None:
    schema = {"resources": {"gcp:a/b:B": {"inputProperties": {"a": PLAIN}}}, "types": TYPES}
    assert replacements(schema) == {}


def test_the_file_was_written_for_the_locked_version() -> None:
    document = json.loads(FILE.read_text())
    assert document["version"] == locked_version() == version("pulumi-gcp"), "run `make lock`"
