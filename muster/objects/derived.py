"""Values computed from structs that views share: once for all of these views, and as long as one has it."""

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import KeyedRef

S = TypeVar("S")
V = TypeVar("V")


class Derived(Generic[S, V]):
    """Caches `compute` by the identity of structs, which never change and allow weak references. No value may
    refer to its struct: neither would be dropped."""

    def __init__(self, compute: Callable[[S], V]) -> None:
        self._compute = compute
        self._kept: dict[int, tuple[KeyedRef[int, S], V]] = {}

    def __call__(self, struct: S) -> V:
        """Returns `compute(struct)`. Raises: as `compute`, on every call."""
        key = id(struct)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = KeyedRef(struct, self._drop, key), self._compute(struct)
        return found[1]

    def _drop(self, gone: KeyedRef[int, S]) -> None:
        self._kept.pop(gone.key, None)
