"""What was made of texts, remembered by them within a bound of bytes.

functools.lru_cache counts entries, and its keys here are users' pod templates of up to a megabyte: 4,096 of
those are more memory than the controller has.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")

BYTES_MAX = 32 * 2**20
ENTRY_BYTES = 512  # of the cache itself, with the key's object
STRING_BYTES = 64  # of a Python string beside its characters, and of its place in a dict


class ByteCache(Generic[V]):
    """`make` of a text, while there is room; the least recently used makes room for the next.

    What is kept is counted by the texts: twice their bytes, once as the key and once in the value, and for
    each string in them what an object of Python costs. Views keep less, as they leave fields out.
    """

    def __init__(self, make: Callable[[bytes], V], bytes_max: int = BYTES_MAX) -> None:
        self._make, self._bytes_max = make, bytes_max
        self._kept: OrderedDict[bytes, V] = OrderedDict()
        self.bytes_kept = 0

    def __call__(self, text: bytes) -> V:
        """Raises what `make` raises, every time."""
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
    """Of remembering what was made of a JSON text, in bytes."""
    return ENTRY_BYTES + 2 * len(text) + STRING_BYTES * (text.count(b'"') // 2)
