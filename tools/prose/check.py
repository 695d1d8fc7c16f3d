"""The verb `prose`: counts by room, and places in rooms that exceed their ceilings."""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.prose import rooms, vale
from tools.prose.results import results
from tools.prose.rooms import Ceiling, Count
from tools.prose.vale import ValeAlert
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import Screen

SUFFIXES = {".md", ".py", ".toml", ".yaml", ".yml", ""}
LEFT_OUT = (
    "LICENSE",
    "tools/prose/",
    "docs/style.md",
    "tests/simulation/kept/",
    "tests/stacks/golden/",
    "tests/unit/tools/test_prose.py",
)
"""Generated or recorded files, and files about the words themselves."""
PLACES_MAX = 30
"""Places that are listed of each room above its ceiling; `prose PATH` lists all."""


@dataclass(frozen=True)
class Report:
    """Alerts and counts of all rooms. `turns` is None without Vale."""

    words: Mapping[str, int]
    turns: Sequence[ValeAlert] | None
    names: Sequence[ValeAlert]

    def counts(self) -> dict[str, Count]:
        """Returns the counts by room; refused words count in no room."""
        counts: dict[str, Count] = {}
        for path, number in self.words.items():
            _add(counts, path, Count(words=number))
        for alert in self.turns or ():
            _add(counts, alert.path, Count(turns=not alert.refused))
        for alert in self.names:
            _add(counts, alert.path, Count(names=not alert.refused))
        return counts

    def refused(self) -> list[ValeAlert]:
        """Returns the uses of words that no room may contain."""
        return [alert for alert in self.all() if alert.refused]

    def all(self) -> list[ValeAlert]:
        """Returns all alerts by place."""
        return sorted([*(self.turns or ()), *self.names], key=lambda alert: (alert.path, alert.line))


def _add(counts: dict[str, Count], path: str, count: Count) -> None:
    room = rooms.room(path)
    counts[room] = counts.get(room, Count()) + count


def report(paths: Sequence[str]) -> Report:
    """Checks the tracked files below `paths`."""
    texts = {path: (CHECKOUT / path).read_text() for path in _tracked() if path.startswith(tuple(paths))}
    executable = vale.vale(Screen())
    files = results(texts, None if executable is None else partial(vale.alerts, executable))
    return Report(
        words={path: result.words for path, result in files.items()},
        turns=None
        if executable is None
        else [alert for result in files.values() for alert in result.turns or ()],
        names=[alert for result in files.values() for alert in result.names],
    )


def prose(paths: Sequence[str], lower: bool = False) -> int:
    """Prints the counts by room, and places to rewrite; returns 1 if a room exceeds its ceiling.

    With `paths`, lists all places below them instead and returns 0. `lower` lowers ceilings to the counts.
    """
    result = report(paths or [""])
    if paths:
        _print(result.all())
        return 0
    if result.turns is None:
        print(
            "prose: skipped, as Vale is not built and there is no C compiler to build it; names are checked"
        )
    ceilings, counts = rooms.read(rooms.CEILINGS.read_text()), result.counts()
    if lower and result.turns is not None:
        ceilings = {name: ceilings.get(name, Ceiling()).lowered(count) for name, count in counts.items()}
        rooms.CEILINGS.write_text(rooms.write(ceilings))
    print("\n".join(table(counts, ceilings)))
    return 1 if _print_failures(result, counts, ceilings) else 0


def _print_failures(result: Report, counts: Mapping[str, Count], ceilings: Mapping[str, Ceiling]) -> bool:
    refused = result.refused()
    _print(refused)
    exceeded = [room for room, count in counts.items() if not ceilings.get(room, Ceiling()).holds(count)]
    for room in exceeded:
        alerts = [alert for alert in result.all() if rooms.room(alert.path) == room]
        _print(alerts[:PLACES_MAX])
        print(f"{room} exceeds its ceiling; `python -m tools prose {room}` lists all {len(alerts)} places")
    return bool(refused or exceeded)


def _print(alerts: Iterable[ValeAlert]) -> None:
    for alert in alerts:
        print(alert)


def table(counts: Mapping[str, Count], ceilings: Mapping[str, Ceiling]) -> list[str]:
    """Returns the lines of a table: each room with its counts and ceilings."""
    lines = [f"{'room':22} {'words':>7} {'per 1,000':>10} {'ceiling':>8} {'names':>6} {'ceiling':>8}"]
    for room, count in sorted(counts.items()):
        ceiling = ceilings.get(room, Ceiling())
        turns = f"{count.words:7} {count.rate:10.1f} {ceiling.rate:8.1f}"
        lines.append(f"{room:22} {turns} {count.names:6} {ceiling.names:8}")
    return lines


def _tracked() -> list[str]:
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=CHECKOUT, text=True)
    return [path for path in listed.split("\0") if path and _checked(path)]


def _checked(path: str) -> bool:
    return Path(path).suffix in SUFFIXES and not path.startswith(LEFT_OUT) and (CHECKOUT / path).exists()
