"""Caches values computed from objects, from pass to pass, while the objects stay the same."""

import operator
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple, cast

V = TypeVar("V")
Ts = TypeVarTuple("Ts")
Entry = tuple[tuple[Any, ...], Any]  # (objects, value)


class PassCache:
    """Keeps values from one full pass, which asks for all that are needed, to the next."""

    def __init__(self) -> None:
        self._current: dict[tuple[object, str], Entry] = {}
        self._previous: dict[tuple[object, str], Entry] = {}

    def begin_full_pass(self) -> None:
        self._previous, self._current = self._current, {}

    def get(self, compute: Callable[[*Ts], V], key: str, *objects: *Ts) -> V:
        """Returns `compute(*objects)`, cached by the objects' identity, as views never change; `key` tells
        apart values of one function."""
        entry_key = (compute, key)
        entry = self._current.get(entry_key) or self._previous.get(entry_key)
        same = entry is not None and len(entry[0]) == len(objects)
        if entry is None or not same or not all(map(operator.is_, entry[0], objects)):
            entry = objects, compute(*objects)
        self._current[entry_key] = entry
        return cast("V", entry[1])
