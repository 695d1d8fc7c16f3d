"""Finds the properties that differ between old and new inputs."""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from preview.resources.values import opened

_BARE_KEY = re.compile(r"[A-Za-z_$][\w$]*\Z")

Path = tuple[str | int, ...]


class ChangeKind(Enum):
    """Kind of change of one property."""

    ADD = "ADD"
    DELETE = "DELETE"
    UPDATE = "UPDATE"


def differences(old: Any, new: Any, at: Path = ()) -> Iterator[tuple[Path, ChangeKind]]:
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
        yield at, ChangeKind.UPDATE


def _entries(
    old: Mapping[Any, Any], new: Mapping[Any, Any], keys: list[Any], at: Path
) -> Iterator[tuple[Path, ChangeKind]]:
    for key in keys:
        if key not in old:
            yield (*at, key), ChangeKind.ADD
        elif key not in new:
            yield (*at, key), ChangeKind.DELETE
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
