"""Reads a page as a browser does, in Python: its elements, and its data as outcomes again."""

import base64
import json
import zlib
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import accumulate, count

VOID = {"meta", "link", "input", "br", "img"}


class PageError(AssertionError):
    """An element that is closed in the wrong place, or not at all."""


@dataclass
class Element:
    """An element with its attributes and all text in it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Parsed(HTMLParser):
    """All elements of a page, in order of their start tags."""

    elements: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop().tag != tag:
            raise PageError(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Returns the elements with this tag and these attributes (`class_` for class)."""
        expected = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [e for e in self.elements if e.tag == tag and expected.items() <= e.attributes.items()]

    def only(self, tag: str, **attributes: str) -> Element:
        (element,) = self.all(tag, **attributes)
        return element


def parsed(text: str) -> Parsed:
    """Returns the page's elements. Raises PageError if they are not nested."""
    page = Parsed()
    page.feed(text)
    page.close()
    if page.open:
        raise PageError(f"not closed: {[element.tag for element in page.open]}")
    return page


@dataclass
class Data:
    """The page's header and columns."""

    header: dict[str, object]
    columns: dict[str, list[int]]

    def names(self) -> list[str]:
        """Returns the names of all jobs."""
        templates = self.header["templates"]
        assert isinstance(templates, list)
        numbers: list[list[int]] = [[0] * sum(isinstance(p, int) for p in parts) for parts in templates]
        fields = [iter(self.columns[f"names.{place}"]) for place in range(max(map(len, numbers), default=0))]
        names = []
        for template in self.columns["names.template"]:
            places, name = count(), ""
            for part in templates[template]:
                if isinstance(part, int):
                    place = next(places)
                    numbers[template][place] += next(fields[place])
                    name += f"{numbers[template][place]:0{part}}"
                else:
                    name += part
            names.append(name)
        return names

    def submits(self) -> list[int]:
        """Returns the time of submission of all jobs, in ticks."""
        return list(accumulate(self.columns["submit"]))

    def of_jobs(self, side: int, column: str) -> list[int]:
        """Returns a column of a side with one value for each job."""
        total = [0] * len(self.columns["submit"])
        for number in range(side + 1):
            total = [a + b for a, b in zip(total, self.columns[f"{number}.{column}"], strict=True)]
        return total

    def attempts(self, side: int) -> list[list[tuple[int, int, int, int]]]:
        """Returns each job's attempts: reserved, started (-1: never) and ended in ticks, and the end."""
        before = self.attempts(side - 1) if side else [[] for _ in self.columns["submit"]]
        rows = zip(
            *(self.columns[f"{side}.{name}"] for name in ("waited", "starting", "ran", "end")), strict=True
        )
        decoded_attempts = []
        for number, at, last in zip(self.of_jobs(side, "attempts"), self.submits(), before, strict=True):
            usual = last[-1][2] - (last[-1][0] if last[-1][1] < 0 else last[-1][1]) if last else 0
            mine: list[tuple[int, int, int, int]] = []
            for _ in range(number):
                waited, starting, ran, end = next(rows)
                reserved = at + waited
                started = -1 if starting < 0 else reserved + starting
                at = (reserved if started < 0 else started) + usual + ran
                mine.append((reserved, started, at, end))
            decoded_attempts.append(mine)
        assert next(rows, None) is None
        return decoded_attempts


def decoded(text: str) -> Data:
    """Returns the data of a page."""
    data = zlib.decompress(base64.b64decode(parsed(text).only("script", id="data").text))
    at = 4 + int.from_bytes(data[:4], "little")
    header = json.loads(data[4:at])
    columns = {}
    for described in header["columns"]:
        length, width = described["length"], described["width"]
        part = data[at : at + length * width]
        at += length * width
        plain = [sum(part[plane * length + i] << 8 * plane for plane in range(width)) for i in range(length)]
        columns[described["name"]] = [value >> 1 ^ -(value & 1) for value in plain]
    assert at == len(data)
    return Data(header, columns)
