"""What passes make of objects, kept from one to the next while the objects stay the same."""

import operator
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple, cast

V = TypeVar("V")
Ts = TypeVarTuple("Ts")
Made = tuple[tuple[Any, ...], Any]  # of these objects, this


class Memory:
    """Of this pass and the one before: what neither asked for is forgotten."""

    def __init__(self) -> None:
        self._now: dict[tuple[object, str], Made] = {}
        self._before: dict[tuple[object, str], Made] = {}

    def turn(self) -> None:
        """A new pass begins."""
        self._before, self._now = self._now, {}

    def of(self, make: Callable[[*Ts], V], key: str, *objects: *Ts) -> V:
        """What `make` makes of these very objects; `key` tells them from others that it is made of.
        Views never change, so that an object that has changed is another one."""
        at = (make, key)
        known = self._now.get(at) or self._before.get(at)
        same = known is not None and len(known[0]) == len(objects)
        if known is None or not same or not all(map(operator.is_, known[0], objects)):
            known = objects, make(*objects)
        self._now[at] = known
        return cast("V", known[1])
