"""Changes of single fields of Ray objects, made from the schema and the table of fields."""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from components.admission.fields.schema import DEFINITIONS, FieldAddress, schema_at
from components.admission.fields.table import Row, row_of
from tests.stacks.dry_runs import Manifest

Schema = dict[str, Any]
TYPE = ("apiVersion", "kind")
KEY, TEXT, NUMBER, TIME = "example.com/key", "changed", 7, "2026-01-02T03:04:05Z"


class Change(NamedTuple):
    """A value of the field at `path` of a kind; without a value, one of its type."""

    row: Row
    kind: str
    path: str
    value: Any = None

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {self.value!r}"
        return f"{self.kind}.{self.path}{value}"


def with_newer_fields(schemas: Mapping[str, Schema], table: Iterable[Row]) -> dict[str, Schema]:
    """Returns the schemas of the kinds with the fields that only newer versions of KubeRay have."""
    definitions = {name: schema_at(schemas[kind], path) for name, (kind, path) in DEFINITIONS.items()}
    newer = [row for row in table if row.since]
    extended = {kind: copy.deepcopy(schema) for kind, schema in schemas.items()}
    for kind, schema in schemas.items():
        for row in newer:
            places = [extended[kind]] if row.owner == kind else []
            if row.owner in definitions:
                places = list(_occurrences(schema, extended[kind], definitions[row.owner]))
            for place in places:
                _declare(place, row)
    return extended


def _occurrences(
    schema: Mapping[str, Any], extended: Schema, definition: Mapping[str, Any]
) -> Iterator[Schema]:
    """Yields the parts of `extended` that are in `schema` equal to the definition."""
    if schema == definition:
        yield extended
        return
    for name, below in schema.get("properties", {}).items():
        yield from _occurrences(below, extended["properties"][name], definition)
    if "items" in schema:
        yield from _occurrences(schema["items"], extended["items"], definition)


def _declare(schema: Schema, row: Row) -> None:
    *outer, last = re.findall(r"\[\]|[^.\[\]]+", row.path)
    for name in outer:
        schema = schema["items"] if name == "[]" else schema["properties"][name]
    declared: Schema = {"type": row.type}
    if row.type == "object":
        declared["x-kubernetes-preserve-unknown-fields"] = True
    schema["properties"][last] = declared


def changes(addresses: Iterable[FieldAddress], table: tuple[Row, ...], effect: str) -> Iterator[Change]:
    """Yields changes of all fields with this effect: each value of their row, or one for each field."""
    tried = set()
    for address in addresses:
        row = row_of(address, table)
        kind, path = address.within[0]
        if row is None or row.effect != effect or path in TYPE:
            continue
        if not row.values:
            yield Change(row, kind, path)
            continue
        below = len(dict(address.within)[row.owner]) - len(row.path)
        place = path[: len(path) - below]
        if (kind, place) not in tried:
            tried.add((kind, place))
            yield from (Change(row, kind, place, value) for value in row.values)


def changed(manifest: Manifest, schema: Schema, path: str, value: Any = None) -> Manifest:
    """Returns the object with this value of a field, or another one of its type; what the schema requires
    around it is added."""
    manifest = copy.deepcopy(manifest)
    *outer, last = re.findall(r"\[\]|\{\}|[^.\[\]{}]+", path)
    here: Any = manifest
    for name in outer:
        here, schema = _child(here, schema, name)
    if last == "metadata" and not outer:
        _merge(manifest["metadata"], value)
    else:
        _set(here, schema, last, value)
    return manifest


def _child(here: Any, schema: Schema, name: str) -> tuple[Any, Schema]:
    if name == "[]":
        below = schema["items"]
        if not here:
            here.append(_minimal(below))
        return here[0], below
    if name == "{}":
        below = schema["additionalProperties"]
        return here.setdefault(KEY, _minimal(below)), below
    below = schema["properties"][name]
    if name not in here:
        here[name] = _minimal(below)
    return here[name], below


def _set(here: Any, schema: Schema, last: str, value: Any) -> None:
    if last == "[]":
        here.insert(0, _other(schema["items"], None) if value is None else value)
    elif last == "{}":
        here[KEY] = _other(schema["additionalProperties"], None) if value is None else value
    else:
        below = schema["properties"][last]
        here[last] = _other(below, here.get(last)) if value is None else value


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


def _minimal(schema: Schema) -> Any:
    """Returns the smallest value that the schema allows."""
    if schema.get("type") == "object":
        return {name: _minimal(schema["properties"][name]) for name in schema.get("required", ())}
    if schema.get("type") == "array":
        return [_minimal(schema["items"])] * schema.get("minItems", 0)
    return _other(schema, None)


def _other(schema: Schema, current: Any) -> Any:
    """Returns a value of this type that is not the current one."""
    if schema.get("x-kubernetes-int-or-string"):
        return str(NUMBER)
    match schema["type"]:
        case "boolean":
            return not current
        case "integer" | "number":
            return NUMBER if current != NUMBER else NUMBER + 1
        case "string" if schema.get("format") == "date-time":
            return TIME
        case "string":
            return next(v for v in (*schema.get("enum", ()), TEXT, f"{TEXT}2") if v != current)
    raise ValueError(f"no value for {schema}")
