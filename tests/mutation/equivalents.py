"""Mutants that no test can kill, as they change no observable behavior: `equivalent.toml`."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutants import CHECKOUT, Mutant

LISTED = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True)
class Equivalent:
    """One entry: the file, its line before and after the mutation, both without indentation, and why."""

    file: str
    line: str
    mutant: str
    why: str

    def describes(self, mutant: Mutant) -> bool:
        """Whether the entry describes this mutant."""
        return self.file == mutant.path and (self.line, self.mutant) == changed_lines(mutant)


def listed() -> list[Equivalent]:
    """Returns all entries of the file."""
    return [Equivalent(**entry) for entry in tomllib.loads(LISTED.read_text()).get("equivalent", ())]


def changed_lines(mutant: Mutant) -> tuple[str, str]:
    """Returns the lines that a mutant changes, before and after, joined and without indentation."""
    lines = mutant.diff.splitlines()
    before, after = (" ".join(x[1:].strip() for x in lines if x.startswith(sign)) for sign in "-+")
    return before, after


def without(mutants: Iterable[Mutant], equivalents: Iterable[Equivalent]) -> list[Mutant]:
    """Returns the mutants that no entry describes."""
    by_file: dict[str, list[Equivalent]] = {}
    for entry in equivalents:
        by_file.setdefault(entry.file, []).append(entry)
    return [m for m in mutants if not any(entry.describes(m) for entry in by_file.get(m.path, ()))]


def outdated(entries: Iterable[Equivalent]) -> list[str]:
    """Returns a message for each entry whose file no longer has the line."""
    return [
        f"{entry.file}: no line is {entry.line!r} any more; remove its entry from {LISTED.name}"
        for entry in entries
        if not _has_line(CHECKOUT / entry.file, entry.line)
    ]


def _has_line(path: Path, line: str) -> bool:
    if not path.exists():
        return False
    text = " ".join(each.strip() for each in path.read_text().splitlines())
    return line in text
