"""Compares the tables of facts with public data of Google Cloud, and updates them; without data, lists them.

Machine types and their zones come from `gcloud compute machine-types list --format=json`, or from SkyPilot's
catalog of Google Cloud (github.com/skypilot-org/skypilot-catalog, gcp/vms.csv). That of gcloud also has GPUs,
local SSDs and the architecture; tables of these are compared, and edited by hand.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any

from muster.files.errors import FileError
from muster.files.reading import read_text
from muster.files.writing import write_text
from settings.facts.public_data import Machines, families, read_machines
from settings.facts.tables import FOLDER, Table, table

SAME, DIFFERENT, FAILED = 0, 1, 2


@dataclass(frozen=True)
class Difference:
    """A fact that the data has otherwise, or that the table lacks (`here` is None)."""

    table: str
    key: str
    here: Any
    there: Any

    def __str__(self) -> str:
        if isinstance(self.there, str):
            return f"{self.table}  {self.key}: {self.there}, here {self.here}"
        if isinstance(self.there, list):
            more = [zone for zone in self.there if zone not in self.here]
            return f"{self.table}  {self.key}: also in {', '.join(more)}"
        return f"{self.table}  {self.key}: {_sized(self.there)}, here {_sized(self.here)}"


def differences(machines: Machines) -> list[Difference]:
    """Returns what the data has otherwise or in addition to the tables.

    Facts that only a table has are kept: the data may be of one project or of some regions. Families that the
    table does not have are left out, as in its head.
    """
    sizes, zones = table("machines").facts, table("zones")
    listed = families(sizes)
    changed = [
        Difference("machines", name, sizes.get(name), dict(size))
        for name, size in machines.sizes.items()
        if name.partition("-")[0] in listed and sizes.get(name) != size
    ]
    there = {key: set(value) for key, value in zones.facts.items()}
    for name, has in machines.zones.items():
        if key := zones.key_of(name):
            there[key] |= has
    changed += [
        Difference("zones", key, zones.facts[key], sorted(has))
        for key, has in there.items()
        if has != set(zones.facts[key])
    ]
    changed += _of_parts(machines)
    return sorted(changed, key=lambda difference: (difference.table, difference.key))


def _of_parts(machines: Machines) -> Iterator[Difference]:
    """Yields differences of the tables of GPUs, local SSDs and series with Arm CPUs, for listed machine
    types."""
    gpus = {
        name: (gpu, count)
        for gpu, counts in table("accelerators").facts.items()
        for name, count in counts.items()
    }
    arm = table("arm").facts["series"]
    for name in machines.parts.keys() & table("machines").facts.keys():
        parts = machines.parts[name]
        here, there = gpus.get(name, ("", 0)), (parts.gpu_type, parts.gpu_count)
        if here != there and not (here[0].startswith("tpu") and not parts.gpu_count):
            yield Difference("accelerators", name, _counted(*here), _counted(*there))
        fixed = (table("local_ssds").of(name) or {}).get("fixed", 0)
        if fixed != parts.local_ssds:
            yield Difference("local_ssds", name, fixed, f"{parts.local_ssds} that are part of it")
        if (name.partition("-")[0] in arm) != parts.arm:
            yield Difference("arm", name, "the other", "Arm CPUs" if parts.arm else "x86 CPUs")


def _counted(gpu: str, count: int) -> str:
    return f"{count} {gpu}" if count else "no GPU"


def updated(text: str, changed: Iterable[Difference], source: str, day: date) -> str:
    """Returns the text of a table with these facts, its new source and date; its head is kept."""
    head, _, facts = text.partition("[facts]\n")
    head = re.sub(r"(?m)^source = .*$", lambda _: f"source = {json.dumps(source)}", head)
    head = re.sub(r"(?m)^date = .*$", f"date = {day}", head)
    entries = {entry.partition(" = ")[0]: entry for entry in re.split(r"(?m)^(?=\w)", facts) if entry.strip()}
    for difference in changed:
        entries[difference.key] = f"{difference.key} = {_written(difference.there)}\n"
    return f"{head}[facts]\n{''.join(entries[key] for key in sorted(entries, key=_natural))}"


def _natural(key: str) -> list[tuple[int, int | str]]:
    """Returns a sort key by which n2-standard-8 comes before n2-standard-16."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in key.split("-")]


def _written(fact: Any) -> str:
    if isinstance(fact, Mapping):
        return f"{{ {', '.join(f'{name} = {value}' for name, value in fact.items())} }}"
    by_region = groupby(fact, key=lambda zone: zone.rpartition("-")[0])
    lines = (", ".join(f'"{zone}"' for zone in zones) for _, zones in by_region)
    return "[\n" + "".join(f"  {line},\n" for line in lines) + "]"


def _sized(size: Mapping[str, int] | None) -> str:
    return f"{size['vcpus']} vCPUs and {size['memory_gib']} GiB" if size else "not listed"


def ages(today: date) -> list[str]:
    """Returns a line for each table: its name, date, age in days, and source."""
    tables: list[Table] = [table(file.stem) for file in sorted(FOLDER.glob("*.toml"))]
    width = max(len(each.name) for each in tables)
    return [f"{t.name:{width}}  {t.date}  {(today - t.date).days:>4} days  {t.source}" for t in tables]


def compare(file: Path, source: str | None, today: date) -> int:
    """Prints how the data differs from the tables; with `source` writes them. Returns the exit code."""
    changed = differences(read_machines(read_text(file, "a list of machine types"), str(file)))
    for difference in changed:
        print(difference)
    print(f"{len(changed)} differences" if changed else "no difference")
    if source is None:
        return DIFFERENT if changed else SAME
    for name in ("machines", "zones"):
        target = FOLDER / f"{name}.toml"
        own = [difference for difference in changed if difference.table == name]
        write_text(target, updated(target.read_text(), own, source, today))
        print(f"wrote {target.name}: {len(own)} facts of {today}")
    by_hand = sorted({difference.table for difference in changed} - {"machines", "zones"})
    if by_hand:
        print(f"edit by hand: {', '.join(f'{name}.toml' for name in by_hand)}")
    return DIFFERENT if by_hand else SAME


def main(arguments: Sequence[str]) -> int:
    """Compares, updates or lists the tables; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make facts", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="JSON of gcloud, or a CSV file of SkyPilot")
    parser.add_argument("--write", metavar="SOURCE", help="update the tables, and name this source in them")
    parser.add_argument(
        "--date", type=date.fromisoformat, default=date.today(), help="the date of the data (default: today)"
    )
    options = parser.parse_args(arguments)
    if options.file is None:
        print("\n".join(ages(options.date)))
        return SAME
    try:
        return compare(options.file, options.write, options.date)
    except FileError as error:
        print(error, file=sys.stderr)
        return FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
