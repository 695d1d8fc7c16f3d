"""Reads the tables of facts: TOML files with a source, a date, and facts by key.

Google Cloud changes faster than this package: rules refuse what contradicts a table, and only warn, with its
date, of what the table does not list. `muster:machineTypes` adds machine types.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Table:
    """Facts of one kind with their source. `date` is the source's, or the day on which it was read if it has
    none."""

    name: str
    source: str
    date: date
    facts: Mapping[str, Any]

    def of(self, machine_type: str) -> Any:
        """Returns the fact of the longest prefix of a machine type, in whole parts (`a4` is no prefix of
        `a4x-highgpu-4g`); None if the table has none."""
        key = self.key_of(machine_type)
        return None if key is None else self.facts[key]

    def key_of(self, machine_type: str) -> str | None:
        """Returns that prefix."""
        return next((key for key in _prefixes(machine_type) if key in self.facts), None)


@cache
def table(name: str) -> Table:
    """Returns the table of the file `<name>.toml`."""
    with open(FOLDER / f"{name}.toml", "rb") as file:
        content = tomllib.load(file)
    return Table(name, content["source"], content["date"], content["facts"])


def _prefixes(machine_type: str) -> Iterator[str]:
    parts = machine_type.split("-")
    for count in range(len(parts), -1, -1):
        yield "-".join(parts[:count])
