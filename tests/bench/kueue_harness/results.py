"""Writes the results of a configuration as JSON."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import psutil

from tests.bench.kueue_harness.figures import Figure
from tests.bench.kueue_harness.measured import Run


class Compared(msgspec.Struct):
    """One figure: both values, as numbers and as text, with their ratio and the target as text."""

    what: str
    muster: float
    kueue: float
    muster_text: str
    kueue_text: str
    ratio: str
    target: str
    met: bool


class Results(msgspec.Struct):
    """The figures of a configuration, and the runs of which they are medians.

    about: the machine and the date.
    """

    title: str
    about: str
    figures: list[Compared]
    runs: list[Run]


def machine() -> str:
    """Returns what the figures depend on."""
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.machine()}, Python {platform.python_version()}"
    )


def title(config: str, runs: Sequence[Run]) -> str:
    """Returns the heading of a configuration's figures."""
    return f"Kueue's performance harness, {config}: {runs[0].workloads:,} workloads"


def save(path: Path, title: str, figures: Sequence[Figure], runs: Sequence[Run]) -> None:
    """Writes the figures with the machine and the date, and the runs."""
    about = f"{machine()}; {datetime.now(UTC).date().isoformat()}"
    content = Results(title, about, [compared(figure) for figure in figures], list(runs))
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")


def compared(figure: Figure) -> Compared:
    """Returns the figure for the file."""
    _, muster, kueue, ratio, target = figure.row()
    shown = muster.removesuffix(" !")
    return Compared(figure.what, figure.muster, figure.kueue, shown, kueue, ratio, target, figure.met)
