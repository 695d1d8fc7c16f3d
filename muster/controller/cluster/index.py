"""Objects by what they have in common, kept up to date key by key."""

from collections.abc import Callable, Collection, Hashable, Iterable, KeysView
from typing import Generic, TypeVar

V = TypeVar("V")
P = TypeVar("P", bound=Hashable)


class Index(Generic[P, V]):
    """Objects by the values of a property, of which an object may have none or several."""

    def __init__(self, of: Callable[[V], Iterable[P]]) -> None:
        self._of = of
        self._objects: dict[P, dict[str, V]] = {}
        self._values: dict[str, tuple[P, ...]] = {}  # by the object's key

    def put(self, key: str, obj: V | None) -> Collection[P]:
        """Takes the object that has this key now, None if it is gone. Returns the values of the object that
        had it before, and of this one."""
        before = self._values.pop(key, ())
        for value in before:
            others = self._objects[value]
            del others[key]
            if not others:
                del self._objects[value]
        now = tuple(dict.fromkeys(self._of(obj))) if obj is not None else ()
        if obj is None or not now:
            return before
        self._values[key] = now
        for value in now:
            self._objects.setdefault(value, {})[key] = obj
        return {*before, *now}

    def having(self, value: P) -> list[V]:
        """Returns the objects with this value, in the order of their keys."""
        found = self._objects.get(value, {})
        return [found[key] for key in sorted(found)]

    def first(self, value: P) -> V | None:
        found = self._objects.get(value)
        return found[min(found)] if found else None

    @property
    def values(self) -> KeysView[P]:
        """The values that some object has."""
        return self._objects.keys()
