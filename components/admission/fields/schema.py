"""The fields of Ray's kinds, flattened from their CustomResourceDefinitions.

A path joins property names with dots; `[]` is any item of a list, `{}` any value of a map. Schemas that occur
several times (the pod template of the head, of the workers and of the submitter) are definitions: the path of
each occurrence ends at the definition's name, which is possible only if the occurrences are equal.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.admission.ray import RAY_KINDS

FILE = Path(__file__).with_name("schema.json")
KINDS = tuple(kind.name for kind in RAY_KINDS)
# Each definition, and a place where it occurs.
DEFINITIONS = {
    "RayClusterSpec": ("RayCluster", ("spec",)),
    "PodTemplateSpec": ("RayCluster", ("spec", "headGroupSpec", "template")),
    "Container": ("RayCluster", ("spec", "headGroupSpec", "template", "spec", "containers", "[]")),
    "Service": ("RayCluster", ("spec", "headGroupSpec", "headService")),
}

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Field:
    """A field with none below it; `type` is its OpenAPI type, `int-or-string` or a definition's name."""

    path: str
    type: str
    enum: tuple[str, ...] = ()


Fields = Mapping[str, tuple[Field, ...]]
"""The fields of each kind and of each definition."""


@dataclass(frozen=True)
class FieldAddress:
    """A field of a kind, from each of the objects that it is in: the kind first, the innermost last."""

    field: Field
    within: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        kind, path = self.within[0]
        return f"{kind}.{path}"


def fields_of(schemas: Mapping[str, Schema]) -> Fields:
    """Returns the fields of the kinds, from the OpenAPI schema of each."""
    definitions = {name: schema_at(schemas[kind], path) for name, (kind, path) in DEFINITIONS.items()}
    roots = {kind: schemas[kind] for kind in KINDS} | definitions
    return {name: tuple(_flattened(root, "", definitions, name)) for name, root in roots.items()}


def schema_at(schema: Schema, path: tuple[str, ...]) -> Schema:
    """Returns the schema of the field at a path, as in DEFINITIONS."""
    for name in path:
        schema = schema["items"] if name == "[]" else schema["properties"][name]
    return schema


def _flattened(schema: Schema, path: str, definitions: Mapping[str, Schema], root: str) -> Iterator[Field]:
    same = [name for name, definition in definitions.items() if definition == schema and path]
    if same:
        yield Field(path, same[0])
    elif schema.get("properties"):
        for name, below in schema["properties"].items():
            yield from _flattened(below, f"{path}.{name}" if path else name, definitions, root)
    elif schema.get("type") == "array":
        yield from _flattened(schema["items"], f"{path}[]", definitions, root)
    elif isinstance(schema.get("additionalProperties"), Mapping):
        yield from _flattened(schema["additionalProperties"], f"{path}{{}}", definitions, root)
    else:
        any_of = schema.get("x-kubernetes-int-or-string")
        yield Field(path, "int-or-string" if any_of else str(schema["type"]), tuple(schema.get("enum", ())))


def addresses(fields: Fields) -> Iterator[FieldAddress]:
    """Yields every field of every kind, with definitions expanded."""
    for kind in KINDS:
        yield from _expanded(fields, ((kind, ""),))


def _expanded(fields: Fields, within: tuple[tuple[str, str], ...]) -> Iterator[FieldAddress]:
    for field in fields[within[-1][0]]:
        extended = tuple((name, f"{path}.{field.path}" if path else field.path) for name, path in within)
        if field.type in fields:
            yield from _expanded(fields, (*extended, (field.type, "")))
        else:
            yield FieldAddress(field, extended)


def recorded() -> Fields:
    """Returns the fields of the pinned KubeRay, as `make fields` recorded them."""
    return {
        name: tuple(Field(path, *_parsed(text)) for path, text in paths.items())
        for name, paths in json.loads(FILE.read_text()).items()
    }


def _parsed(text: str) -> tuple[str, tuple[str, ...]]:
    kind, _, enum = text.partition(": ")
    return kind, tuple(enum.split(" | ")) if enum else ()


def text_of(fields: Fields) -> str:
    """Returns the text of `schema.json`."""
    plain = {
        name: {f.path: f"{f.type}: {' | '.join(f.enum)}" if f.enum else f.type for f in mine}
        for name, mine in fields.items()
    }
    return json.dumps(plain, indent=1) + "\n"
