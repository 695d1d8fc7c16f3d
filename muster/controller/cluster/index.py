"""Objects by what they have in common, kept up to date key by key."""

from collections.abc import Callable, Collection, Hashable, Iterable, KeysView
from typing import Generic, TypeVar

V = TypeVar("V")
P = TypeVar("P", bound=Hashable)


class Index(Generic[P, V]):
    """Objects by the values of a property, of which an object may have none or several."""

    def __init__(self, of: Callable[[V], Iterable[P]]) -> None:
        self._of = of
        self._objects: dict[str, V] = {}  # those that have a value, by key
        self._keys: dict[P, str | set[str]] = {}  # a set only where several objects have the value

    def put(self, key: str, obj: V | None) -> Collection[P]:
        """Takes the object that has this key now, None if it is gone. Returns the values of the object that
        had it before, and of this one."""
        known = self._objects.pop(key, None)
        before = tuple(self._of(known)) if known is not None else ()
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
        """Returns the objects with this value, in the order of their keys."""
        keys = self._keys.get(value, ())
        return [self._objects[key] for key in ((keys,) if isinstance(keys, str) else sorted(keys))]

    def first(self, value: P) -> V | None:
        keys = self._keys.get(value)
        if keys is None:
            return None
        return self._objects[keys if isinstance(keys, str) else min(keys)]

    @property
    def values(self) -> KeysView[P]:
        """The values that some object has."""
        return self._keys.keys()
