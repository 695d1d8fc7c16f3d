"""Determines which field managers have written a field of an object, from its metadata.managedFields.

The format of `fieldsV1`: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from preview.resources.differences import Path

_Fields = Mapping[str, Any]


def writers(live: Mapping[str, Any], path: Path) -> Iterator[Mapping[str, Any]]:
    """Yields the entries of managers that own the field at `path`, or something below or above it."""
    for entry in live["metadata"].get("managedFields") or ():
        if _owns(entry.get("fieldsV1") or {}, live, path):
            yield entry


def _owns(fields: _Fields, value: Any, path: Path) -> bool:
    for step in path:
        child = _child(fields, value, step)
        if child is None:
            return False
        if set(child) <= {"."}:  # owned as a whole: a leaf, or an atomic map or list
            return True
        fields, value = child, _at(value, step)
    return True


def _child(fields: _Fields, value: Any, step: str | int) -> _Fields | None:
    if isinstance(step, str):
        fields_below: _Fields | None = fields.get(f"f:{step}")
        return fields_below
    item = _at(value, step)
    for name, child in fields.items():
        form, _, text = name.partition(":")
        if form == "v" and json.loads(text) == item:
            return dict(child)
        if form == "k" and isinstance(item, Mapping) and json.loads(text).items() <= item.items():
            return dict(child)
    return None


def _at(value: Any, step: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(step)
    return value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None
