"""Finds the properties that differ between old and new inputs, as the engine's detailed diff."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from pulumi.runtime.proto import provider_pb2

from preview.plugins.values import opened

_BARE_KEY = re.compile(r"[A-Za-z_$][\w$]*\Z")

Path = tuple[str | int, ...]


class Change(Enum):
    """How one property changed."""

    ADD = "ADD"
    DELETE = "DELETE"
    UPDATE = "UPDATE"


def differences(old: Any, new: Any, at: Path = ()) -> Iterator[tuple[Path, Change]]:
    """Yields the path of every leaf that was added, deleted or changed; being secret is not a difference.

    Keys that start with two underscores belong to the provider and are skipped.
    """
    old, new = opened(old), opened(new)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = [key for key in {**old, **new} if not key.startswith("__")]
        yield from _entries({key: old[key] for key in keys if key in old}, dict(new), keys, at)
    elif isinstance(old, list) and isinstance(new, list):
        indexes = list(range(max(len(old), len(new))))
        yield from _entries(dict(enumerate(old)), dict(enumerate(new)), indexes, at)
    elif old != new:
        yield at, Change.UPDATE


def _entries(
    old: Mapping[Any, Any], new: Mapping[Any, Any], keys: list[Any], at: Path
) -> Iterator[tuple[Path, Change]]:
    for key in keys:
        if key not in old:
            yield (*at, key), Change.ADD
        elif key not in new:
            yield (*at, key), Change.DELETE
        else:
            yield from differences(old[key], new[key], (*at, key))


def property_path(path: Path) -> str:
    """Formats a path in Pulumi's notation, for example `spec.template["a/b"].items[0]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _BARE_KEY.match(step):
            text += f".{step}" if text else step
        else:
            text += '["' + step.replace("\\", "\\\\").replace('"', '\\"') + '"]'
    return text


def diff_response(
    changes: Mapping[Path, Change], replacing: frozenset[Path] = frozenset(), *, delete_first: bool = False
) -> provider_pb2.DiffResponse:
    """Returns `changes` as the engine's response; those in `replacing` cannot be changed in place.

    delete_first: delete the old resource before creating the new one, as both would have the same name.
    """
    detailed = {}
    for path, change in changes.items():
        kind = change.value + ("_REPLACE" if path in replacing else "")
        detailed[property_path(path)] = provider_pb2.PropertyDiff(
            kind=provider_pb2.PropertyDiff.Kind.Value(kind), inputDiff=True
        )
    none, some = provider_pb2.DiffResponse.DIFF_NONE, provider_pb2.DiffResponse.DIFF_SOME
    return provider_pb2.DiffResponse(
        changes=some if changes else none,
        diffs=sorted({str(path[0]) for path in changes}),
        replaces=sorted({property_path(path) for path in replacing}),
        deleteBeforeReplace=delete_first and bool(replacing),
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )
