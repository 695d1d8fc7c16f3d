"""Caches values computed from structs that views share, for as long as a view refers to the struct."""

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import KeyedRef

S = TypeVar("S")
V = TypeVar("V")


class Derived(Generic[S, V]):
    """Caches `compute` by the identity of structs, which are immutable and allow weak references. A value
    must not refer to its struct, else neither would be freed."""

    def __init__(self, compute: Callable[[S], V]) -> None:
        self._compute = compute
        self._entries: dict[int, tuple[KeyedRef[int, S], V]] = {}

    def __call__(self, struct: S) -> V:
        """Returns `compute(struct)`. Raises: as `compute`, on every call."""
        key = id(struct)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = KeyedRef(struct, self._drop, key), self._compute(struct)
        return entry[1]

    def _drop(self, freed: KeyedRef[int, S]) -> None:
        self._entries.pop(freed.key, None)
