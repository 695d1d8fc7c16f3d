"""Seconds of each step of `make up`, warm and cold, and of an offline preview of each stack."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbox.up import down, up
from tests.bench.report import Figure
from tools.bootstrap import stamp
from tools.toolchain.paths import CHECKOUT, RunState, cache_directory

WARM_UP_SECONDS_MAX = 60
PREVIEW_SECONDS_MAX = {"prod": 5, "dev": 3}
"""Targets on an idle machine."""
WARM_RUNS = 3


def warm_up() -> Iterator[Figure]:
    """Yields the steps of `make up` with the tools cached."""
    state = RunState("bench-up")
    try:
        up(state, "muster", fresh=True)
        steps = json.loads(state.timings.read_text())["steps"]
    finally:
        down(state)
    for step in steps:
        yield Figure(f"up, warm: {step['step']}", step["seconds"], "s")
    yield Figure("up, warm: in all", sum(s["seconds"] for s in steps), "s", limit=WARM_UP_SECONDS_MAX)


def cold_builds() -> Iterator[Figure]:
    """Yields the build times of the environment and each tool on this machine, noted in the cache."""
    environment = float(stamp(Path(sys.prefix)).read_text())
    yield Figure("up, cold: Python environment", environment, "s")
    total = environment
    for receipt in map(_read, sorted(cache_directory().glob("tools/*/receipt.json"))):
        total += receipt["seconds"]
        what = f"up, cold: build of {receipt['tool']} {receipt['version']}"
        yield Figure(what, receipt["seconds"], "s")
    yield Figure("up, cold: in all, before the steps below", total, "s")


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def previews() -> Iterator[Figure]:
    """Yields the time of `make preview` for each stack, once its files are in the system's cache."""
    for file in sorted((CHECKOUT / "stacks").glob("Pulumi.*.yaml")):
        stack = file.stem.removeprefix("Pulumi.")
        warm = min(_seconds("make", "--silent", "preview", f"STACK={stack}") for _ in range(WARM_RUNS))
        yield Figure(f"make preview: {stack}", warm, "s", limit=PREVIEW_SECONDS_MAX.get(stack))


def _seconds(*command: str) -> float:
    began = time.monotonic()
    subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - began
