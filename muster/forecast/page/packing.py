"""Packs the page's data: columns of integers and a header, compressed and encoded as base64.

Everything is base64, so no job name can end the script element that contains it.

Layout before compression: the length of the header (4 bytes, little endian), the header (JSON, UTF-8), then
each column in the header's order: its values as zigzag numbers of `width` bytes, all lowest bytes first, then
all second bytes, and so on. Neighboring values have similar high bytes, so these planes compress to almost
nothing. assets/decode.js reads it.
"""

import base64
import json
import re
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence

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


DIGITS = re.compile("([0-9]{1,9})")
TEMPLATES_SHARE_MAX = 0.1
Template = tuple[str | int, ...]
"""Texts, and the number of digits for each number."""


def add_names(columns: Columns, names: Sequence[str]) -> list[list[str | int]]:
    """Adds the names and returns their templates, which belong in the header.

    `names.template` holds each name's template. `names.0` holds the first number of each name that has one,
    minus the same number of the previous name with that template; `names.1` the second, and so on. Names
    without a pattern, such as random hexadecimal ones, are templates as a whole."""
    parts = [DIGITS.split(name) for name in names]  # text, digits, text, digits, text ...
    templates = [_template(split) for split in parts]
    numbers = [[int(digits) for digits in split[1::2]] for split in parts]
    if len(set(templates)) > max(1.0, len(names) * TEMPLATES_SHARE_MAX):
        templates, numbers = [(name,) for name in names], [[] for _ in names]
    index_of = {template: index for index, template in enumerate(dict.fromkeys(templates))}
    columns.add("names.template", (index_of[template] for template in templates))
    previous: dict[Template, list[int]] = {}
    fields: list[list[int]] = [[] for _ in range(max(map(len, numbers), default=0))]
    for template, values in zip(templates, numbers, strict=True):
        before = previous.get(template, [0] * len(values))
        for field, number, last in zip(fields, values, before, strict=False):
            field.append(number - last)
        previous[template] = values
    for place, field in enumerate(fields):
        columns.add(f"names.{place}", field)
    return [list(template) for template in index_of]


def _template(split: Sequence[str]) -> Template:
    return tuple(len(part) if place % 2 else part for place, part in enumerate(split))
