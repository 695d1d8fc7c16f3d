"""A case as data: its objects, expected outcome, feature gates and settings."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.objects.meta import millis

Data = Mapping[str, Any]


class NotApplicable(Exception):
    """Raised for a case of a feature that Muster does not have; the message names it."""


@dataclass(frozen=True)
class Case:
    """One case; `gates` differed from Kueue's defaults when it was recorded."""

    suite: str
    name: str
    input: Data
    expect: Data
    config: Data
    gates: Mapping[str, bool]
    now_ms: int

    def gate(self, name: str, default: bool) -> bool:
        return self.gates.get(name, default)


Replay = Callable[[Case], None]
"""Returns if the case passes; raises AssertionError with the difference, or NotApplicable."""


def load(folder: Path) -> Iterator[Case]:
    """Yields every case of a folder of suites, in order. Raises: ValueError that names an invalid file."""
    for path in sorted(folder.glob("*/*.json")):
        try:
            yield _case(json.loads(path.read_text()))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: no case: {type(error).__name__}: {error}") from error


def _case(data: Data) -> Case:
    return Case(
        suite=data["suite"],
        name=data["name"],
        input=data["input"],
        expect=data["expect"],
        config=data.get("config") or {},
        gates=_effective_gates(data),
        now_ms=millis(data.get("now") or "2026-01-01T12:00:00Z"),
    )


def _effective_gates(data: Data) -> Mapping[str, bool]:
    """Returns the gates that all runs of the case share, and the gates that the case sets itself."""
    runs = [run["gatesDifferingFromDefault"] for run in data.get("runs") or ()]
    common = {k: v for k, v in (runs[0] if runs else {}).items() if all(r.get(k) == v for r in runs)}
    return {**common, **data.get("featureGates", {})}
