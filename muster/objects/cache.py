"""A cache of values decoded from texts, bounded in bytes.

functools.lru_cache bounds entries; its keys would be users' pod templates of up to a megabyte, and 4,096 of
them exceed the controller's memory.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")

BYTES_MAX = 32 * 2**20
ENTRY_BYTES = 512  # overhead of an entry, with the key's object
STRING_BYTES = 64  # overhead of a Python string, and of its place in a dict


class ByteCache(Generic[V]):
    """Caches `make` of texts; evicts the least recently used entries.

    The size of an entry is estimated from its text: twice its bytes, for key and value, and the overhead of a
    Python object for each string in it. Views need less, as they leave fields out.
    """

    def __init__(self, make: Callable[[bytes], V], bytes_max: int = BYTES_MAX) -> None:
        self._make, self._bytes_max = make, bytes_max
        self._kept: OrderedDict[bytes, V] = OrderedDict()
        self.bytes_kept = 0

    def __call__(self, text: bytes) -> V:
        """Returns `make(text)`. Raises: as `make`, on every call."""
        if text in self._kept:
            self._kept.move_to_end(text)
            return self._kept[text]
        value, cost = self._make(text), cost_of(text)
        if cost > self._bytes_max:
            return value
        self._kept[text] = value
        self.bytes_kept += cost
        while self.bytes_kept > self._bytes_max:
            oldest, _ = self._kept.popitem(last=False)
            self.bytes_kept -= cost_of(oldest)
        return value


def cost_of(text: bytes) -> int:
    """Returns the estimated size of a JSON text's entry, in bytes."""
    return ENTRY_BYTES + 2 * len(text) + STRING_BYTES * (text.count(b'"') // 2)
