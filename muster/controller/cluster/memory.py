"""Caches values computed from objects, from pass to pass, while the objects stay the same."""

import operator
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple, cast

V = TypeVar("V")
Ts = TypeVarTuple("Ts")
Made = tuple[tuple[Any, ...], Any]  # (objects, value)


class Memory:
    """Keeps the values of this pass and the one before; others are dropped."""

    def __init__(self) -> None:
        self._now: dict[tuple[object, str], Made] = {}
        self._before: dict[tuple[object, str], Made] = {}

    def turn(self) -> None:
        """Begins a new pass."""
        self._before, self._now = self._now, {}

    def of(self, make: Callable[[*Ts], V], key: str, *objects: *Ts) -> V:
        """Returns `make(*objects)`, cached by the objects' identity, as views never change; `key` tells apart
        values of one `make`."""
        at = (make, key)
        known = self._now.get(at) or self._before.get(at)
        same = known is not None and len(known[0]) == len(objects)
        if known is None or not same or not all(map(operator.is_, known[0], objects)):
            known = objects, make(*objects)
        self._now[at] = known
        return cast("V", known[1])
