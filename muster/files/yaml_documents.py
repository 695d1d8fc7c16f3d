"""Reads YAML of unknown origin: bounded in depth, in nodes, and in what aliases expand to.

PyYAML recurses for each level, resolves `1:1:1:…` as a number base 60 in quadratic time, and lets a few
hundred bytes of aliases expand to billions of nodes. The check reads events, which needs no recursion.
"""

import re
from typing import Any

import yaml

from muster.files.errors import FileError

DEPTH_MAX = 100
NODES_MAX = 5_000_000
ALIASED_NODES_MAX = 100_000
NUMBER_LENGTH_MAX = 1_000

_NUMBER = re.compile(r"[-+0-9:._]+")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ERRORS = (  # of PyYAML's constructors, for values such as `!!bool maybe`, 2001-99-99 or 4,301 digits
    yaml.YAMLError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def documents(text: str, where: str) -> list[Any]:
    """Returns all documents of a text; empty ones are None. Raises: FileError."""
    check(text, where)
    try:
        return list(yaml.load_all(text, Loader=_LOADER))
    except _ERRORS as error:
        raise _invalid(error, where) from error


def document(text: str, where: str, loader: Any = _LOADER) -> Any:
    """Returns the only document of a text; None if it is empty. Raises: FileError."""
    check(text, where)
    try:
        return yaml.load(text, Loader=loader)
    except _ERRORS as error:
        raise _invalid(error, where) from error


def check(text: str, where: str) -> None:
    """Raises: FileError for a text that is not YAML or exceeds a bound."""
    sizes = _Sizes(where)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            sizes.add(event)
    except (yaml.YAMLError, UnicodeError) as error:
        raise _invalid(error, where) from error


class _Sizes:
    """Counts nodes, including what aliases expand to."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._open: list[tuple[str | None, int]] = []  # the anchor of each open collection, nodes before it
        self._nodes = self._aliased = 0
        self._anchors: dict[str, int] = {}  # nodes of each finished one

    def add(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._anchors.clear()
                self._nodes += 1
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.CollectionStartEvent():
                self._open.append((event.anchor, self._nodes))
                self._nodes += 1
                if len(self._open) > DEPTH_MAX:
                    raise self._error(event, f"more than {DEPTH_MAX} levels")
            case yaml.CollectionEndEvent():
                anchor, before = self._open.pop()
                if anchor is not None:
                    self._anchors[anchor] = self._nodes - before
        if self._nodes > NODES_MAX:
            raise self._error(event, f"more than {NODES_MAX:,} values")

    def _alias(self, event: yaml.AliasEvent) -> None:
        size = self._anchors.get(event.anchor or "")
        if size is None:
            raise self._error(event, f"alias *{event.anchor} is not defined, or contains itself")
        self._nodes += size
        self._aliased += size
        if self._aliased > ALIASED_NODES_MAX:
            raise self._error(event, f"aliases that expand to more than {ALIASED_NODES_MAX:,} values")

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._nodes += 1
        if event.anchor is not None:
            self._anchors[event.anchor] = 1
        is_text = event.tag is None and not event.implicit[0]
        if len(event.value) > NUMBER_LENGTH_MAX and not is_text and _NUMBER.fullmatch(event.value):
            raise self._error(event, f"a number of {len(event.value):,} characters")

    def _error(self, event: yaml.Event, problem: str) -> FileError:
        line = f"line {event.start_mark.line + 1:,}: " if event.start_mark is not None else ""
        return FileError(f"{self._where}: {line}{problem}; expected YAML that a person could read")


def _invalid(error: Exception, where: str) -> FileError:
    problem = " ".join(str(error).split())[:500] or type(error).__name__
    return FileError(f"{where}: {problem}; expected valid YAML")
