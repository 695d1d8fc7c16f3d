"""The place in one of Kueue's tests where a case runs, and the call that records it there."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Parts = dict[str, Any]
IMPORT = '\tmusterrecorder "sigs.k8s.io/kueue/pkg/musterrecorder"\n'
CLOSURE = re.compile(r"^(\t+).*\bfunc\(t \*testing\.T\) \{\n", re.MULTILINE)


class PlaceError(Exception):
    """Kueue's source is not as the recorder expects; the message has the place."""


def unchanged(parts: Parts) -> Parts:
    return parts


@dataclass(frozen=True)
class Place:
    """A test's function in a file of the module, and the Go expressions of a case's parts there.

    The call comes at the end of the function's only subtest, or before the line `before`. `changes` replace
    text of the function first; each occurs once. `convert` makes the neutral form of what was recorded.
    """

    file: str
    function: str
    name: str = "name"
    gates: str = "nil"
    now: str = ""
    config: Mapping[str, str] = field(default_factory=dict)
    input: Mapping[str, str] = field(default_factory=dict)
    expect: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)
    suites: tuple[str, ...] = ()
    convert: Callable[[Parts], Parts] = unchanged

    @property
    def package(self) -> str:
        return f"./{Path(self.file).parent}"

    @property
    def all_suites(self) -> tuple[str, ...]:
        """The test functions that run here: `function` itself, unless several share it."""
        return self.suites or (self.function,)

    def call(self) -> str:
        """Returns the Go statement that records the case."""
        parts = [("config", _literal(self.config)), ("input", _literal(self.input))]
        parts.append(("expect", _literal(self.expect)))
        if self.now:
            parts.append(("now", self.now))
        return f"musterrecorder.Case(t, {self.name}, {self.gates}, {_literal(dict(parts))})"

    def insert(self, source: str) -> str:
        """Returns the file's source with the call. Raises PlaceError if the place is not found."""
        start, end = self._function(source)
        body = source[start:end]
        for old, new in self.changes.items():
            body = body.replace(self._only(old, body), new)
        position = self._position(body)
        return f"{source[:start]}{body[:position]}{self.call()}\n{body[position:]}{source[end:]}"

    def _function(self, source: str) -> tuple[int, int]:
        match = re.search(rf"(?ms)^func {self.function}\(.*?^\}}\n", source)
        if match is None:
            raise PlaceError(f"{self.file} has no function {self.function}")
        return match.start(), match.end()

    def _only(self, text: str, body: str) -> str:
        if (count := body.count(text)) != 1:
            raise PlaceError(f"{self.file}: {self.function} has {text!r} {count} times, expected once")
        return text

    def _position(self, body: str) -> int:
        if self.before:
            return body.rindex("\n", 0, body.index(self._only(self.before, body))) + 1
        subtests = list(CLOSURE.finditer(body))
        if len(subtests) != 1:
            raise PlaceError(f"{self.file}: {self.function} has {len(subtests)} subtests, expected one")
        end = re.compile(rf"^{subtests[0][1]}\}}", re.MULTILINE).search(body, subtests[0].end())
        if end is None:
            raise PlaceError(f"{self.file}: the subtest of {self.function} has no end")
        return end.start()


def _literal(expressions: Mapping[str, str]) -> str:
    return "map[string]any{" + ", ".join(f'"{key}": {go}' for key, go in expressions.items()) + "}"


def with_import(source: str, file: str) -> str:
    """Returns a Go file that imports the recorder."""
    if "\nimport (\n" not in source:
        raise PlaceError(f"{file} has no import block")
    return source.replace("\nimport (\n", f"\nimport (\n{IMPORT}", 1)
