"""A cache of values decoded from texts, with a limit in bytes.

functools.lru_cache limits only the number of entries: the keys are users' pod templates of up to a megabyte,
and 4,096 of them exceed the controller's memory.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")

BYTES_MAX = 32 * 2**20
ENTRY_BYTES = 512  # overhead of an entry, with the key's object
STRING_BYTES = 64  # overhead of a Python string and its entry in a dict


class ByteCache(Generic[V]):
    """Caches the results of `decode`; evicts the least recently used entries.

    The size of an entry is estimated from its text: twice its bytes, for key and value, and the overhead of a
    Python object for each string in it. Views need less, as they omit fields.
    """

    def __init__(self, decode: Callable[[bytes], V], bytes_max: int = BYTES_MAX) -> None:
        self._decode, self._bytes_max = decode, bytes_max
        self._entries: OrderedDict[bytes, V] = OrderedDict()
        self.size_bytes = 0

    def __call__(self, text: bytes) -> V:
        """Returns `decode(text)`. Raises: as `decode`, on every call."""
        if text in self._entries:
            self._entries.move_to_end(text)
            return self._entries[text]
        value, cost = self._decode(text), cost_of(text)
        if cost > self._bytes_max:
            return value
        self._entries[text] = value
        self.size_bytes += cost
        while self.size_bytes > self._bytes_max:
            oldest, _ = self._entries.popitem(last=False)
            self.size_bytes -= cost_of(oldest)
        return value


def cost_of(text: bytes) -> int:
    """Returns the estimated size of a JSON text's entry, in bytes."""
    return ENTRY_BYTES + 2 * len(text) + STRING_BYTES * (text.count(b'"') // 2)
