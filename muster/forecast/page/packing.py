"""Packs the page's data: columns of integers and a header, compressed and encoded as base64.

Everything is base64, so no job name can end the script element that contains it.

Layout before compression: the length of the header (4 bytes, little endian), the header (JSON, UTF-8), then
each column in the header's order: its values as zigzag numbers of `width` bytes, all lowest bytes first, then
all second bytes, and so on. Neighboring values have similar high bytes, so these planes compress to almost
nothing. assets/decode.js reads it.
"""

import base64
import json
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping

WIDTHS = (1, 2, 4)
_TYPES = {1: "B", 2: "H", 4: "I"}


class Columns:
    """Columns by name, in insertion order."""

    def __init__(self) -> None:
        self.described: list[dict[str, object]] = []
        self.planes: list[bytes] = []

    def add(self, name: str, values: Iterable[int]) -> None:
        """Adds a column of integers of at most 31 bits and a sign. Raises: OverflowError for larger ones."""
        numbers = array("I", (value << 1 if value >= 0 else ~(value << 1) for value in values))
        width = next(width for width in WIDTHS if max(numbers, default=0) < 1 << 8 * width)
        self.described.append({"name": name, "length": len(numbers), "width": width})
        self.planes.append(_planes(numbers, width))


def packed(header: Mapping[str, object], columns: Columns) -> str:
    """Returns the data as base64 of deflated bytes."""
    described = {**header, "columns": columns.described}
    text = json.dumps(described, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    data = b"".join([len(text).to_bytes(4, "little"), text, *columns.planes])
    deflate = zlib.compressobj(9, strategy=zlib.Z_FILTERED)  # for numbers: 5% less than the default
    return base64.b64encode(deflate.compress(data) + deflate.flush()).decode("ascii")


def deltas(values: Iterable[int]) -> Iterable[int]:
    """Yields the first value, and then the difference of each value from its predecessor."""
    previous = 0
    for value in values:
        yield value - previous
        previous = value


def _planes(numbers: "array[int]", width: int) -> bytes:
    data = array(_TYPES[width], numbers)
    if sys.byteorder == "big":
        data.byteswap()
    plain = data.tobytes()
    return b"".join(plain[plane::width] for plane in range(width))
