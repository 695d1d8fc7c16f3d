"""The last results of a configuration as JSON, with the machine and the date."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import psutil

from tests.bench.kueue_harness.figures import Figure
from tests.bench.kueue_harness.measured import Run


def machine() -> str:
    """Returns what the figures depend on."""
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.machine()}, Python {platform.python_version()}"
    )


def save(path: Path, config: str, figures: Sequence[Figure], runs: Sequence[Run]) -> None:
    """Writes the figures and the runs that they are medians of."""
    rows = [
        {
            "what": f.what,
            "unit": f.unit,
            "muster": f.muster,
            "kueue": f.kueue,
            "target": f.row()[-1],
            "met": f.met,
        }
        for f in figures
    ]
    content = {
        "config": config,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "figures": rows,
        "runs": runs,
    }
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")
