"""Indexes of objects by a property, updated incrementally by key."""

from collections.abc import Callable, Collection, Hashable, Iterable, KeysView
from typing import Generic, TypeVar

V = TypeVar("V")
P = TypeVar("P", bound=Hashable)


class Index(Generic[P, V]):
    """An index of objects by the values of a property. An object may have no value or several."""

    def __init__(self, of: Callable[[V], Iterable[P]]) -> None:
        self._of = of
        self._objects: dict[str, V] = {}  # objects with a value, by key
        self._keys: dict[P, str | set[str]] = {}  # a set only if several objects have the value

    def put(self, key: str, obj: V | None) -> Collection[P]:
        """Sets the object with this key; None if it was deleted. Returns the values of the former and of the
        new object."""
        former = self._objects.pop(key, None)
        before = tuple(self._of(former)) if former is not None else ()
        now = tuple(self._of(obj)) if obj is not None else ()
        if obj is not None and now:
            self._objects[key] = obj
        if now == before:
            return now
        for value in before:
            self._remove(value, key)
        for value in now:
            self._add(value, key)
        return {*before, *now}

    def _add(self, value: P, key: str) -> None:
        keys = self._keys.setdefault(value, key)
        if isinstance(keys, set):
            keys.add(key)
        elif keys != key:
            self._keys[value] = {keys, key}

    def _remove(self, value: P, key: str) -> None:
        keys = self._keys.get(value)
        if isinstance(keys, set):
            keys.discard(key)
        if not keys or keys == key:
            self._keys.pop(value, None)

    def having(self, value: P) -> list[V]:
        """Returns the objects with this value, sorted by key."""
        keys = self._keys.get(value, ())
        return [self._objects[key] for key in ((keys,) if isinstance(keys, str) else sorted(keys))]

    def first(self, value: P) -> V | None:
        """Returns the object with the lowest key among those with this value; None if there is none."""
        keys = self._keys.get(value)
        if keys is None:
            return None
        return self._objects[keys if isinstance(keys, str) else min(keys)]

    @property
    def values(self) -> KeysView[P]:
        """The values of all objects."""
        return self._keys.keys()
