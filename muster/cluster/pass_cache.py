"""Caches values computed from objects across passes, as long as the objects stay the same."""

import operator
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple, cast

V = TypeVar("V")
Ts = TypeVarTuple("Ts")
Entries = dict[object, dict[str, tuple[Any, ...]]]
"""The values and the objects they were computed from, by function and key."""


class PassCache:
    """A cache that keeps the values that were used since the last full pass, as a full pass uses all of
    them."""

    def __init__(self) -> None:
        self._current: Entries = defaultdict(dict)
        self._previous: Entries = defaultdict(dict)

    def begin_full_pass(self) -> None:
        """Marks all values as unused; `get` marks the values that it returns as used."""
        self._previous, self._current = self._current, defaultdict(dict)

    def end_full_pass(self) -> None:
        """Drops the values that the pass did not use."""
        self._previous.clear()

    def get(self, compute: Callable[[*Ts], V], key: str, *objects: *Ts) -> V:
        """Returns `compute(*objects)`, cached by the identity of the objects, as views are immutable; `key`
        distinguishes the values of a function."""
        entries = self._current[compute]
        entry = entries.get(key) or self._previous[compute].pop(key, None)
        same = entry is not None and len(entry) == 1 + len(objects)
        if entry is None or not same or not all(map(operator.is_, entry[1:], objects)):
            entry = compute(*objects), *objects
        entries[key] = entry
        return cast("V", entry[0])
