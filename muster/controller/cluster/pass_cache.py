"""Caches values computed from objects, from pass to pass, while the objects stay the same."""

import operator
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple, cast

V = TypeVar("V")
Ts = TypeVarTuple("Ts")
Entries = dict[object, dict[str, tuple[Any, ...]]]
"""The value and its objects, by function and key."""


class PassCache:
    """Keeps values from one full pass, which asks for all that are needed, to the next."""

    def __init__(self) -> None:
        self._current: Entries = defaultdict(dict)
        self._previous: Entries = defaultdict(dict)

    def begin_full_pass(self) -> None:
        self._previous, self._current = self._current, defaultdict(dict)

    def end_full_pass(self) -> None:
        """Drops the values that the pass has not asked for."""
        self._previous.clear()

    def get(self, compute: Callable[[*Ts], V], key: str, *objects: *Ts) -> V:
        """Returns `compute(*objects)`, cached by the objects' identity, as views never change; `key` tells
        apart values of one function."""
        entries = self._current[compute]
        entry = entries.get(key) or self._previous[compute].pop(key, None)
        same = entry is not None and len(entry) == 1 + len(objects)
        if entry is None or not same or not all(map(operator.is_, entry[1:], objects)):
            entry = compute(*objects), *objects
        entries[key] = entry
        return cast("V", entry[0])
