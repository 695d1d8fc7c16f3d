"""Seconds of each step of `make up`, warm and cold, and of an offline preview of each stack."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

from sandbox.paths import CHECKOUT, RunState, cache_directory
from sandbox.pulumi_cli import PulumiCli
from sandbox.up import down, up
from tests.bench.report import Figure

WARM_UP_SECONDS_MAX = 60
PREVIEW_SECONDS_MAX = 10


def warm_up() -> Iterator[Figure]:
    """A whole `make up` with the tools cached, step by step."""
    state = RunState("bench-up")
    try:
        up(state, "muster")
        steps = json.loads(state.timings.read_text())["steps"]
    finally:
        down(state)
    for step in steps:
        yield Figure(f"up, warm: {step['step']}", step["seconds"], "s")
    yield Figure("up, warm: in all", sum(s["seconds"] for s in steps), "s", limit=WARM_UP_SECONDS_MAX)


def cold_builds() -> Iterator[Figure]:
    """What each tool took when this machine built it, from the receipts beside the tools."""
    receipts = sorted(cache_directory().glob("tools/*/receipt.json"))
    total = 0.0
    for receipt in map(_read, receipts):
        total += receipt["seconds"]
        name = f"{receipt['tool']} {receipt['version']}"
        yield Figure(f"build, cold: {name} ({receipt['cores']} cores)", receipt["seconds"], "s")
    if receipts:
        yield Figure("build, cold: in all", total, "s")


def _read(path: Path) -> dict[str, float]:
    content: dict[str, float] = json.loads(path.read_text())
    return content


def previews(pulumi: Path) -> Iterator[Figure]:
    for file in sorted((CHECKOUT / "stacks").glob("Pulumi.*.yaml")):
        stack = file.stem.removeprefix("Pulumi.")
        cli = PulumiCli(pulumi, RunState("bench-preview").root).select(stack, file)
        began = time.monotonic()
        cli.preview(lambda line: None)
        yield Figure(f"offline preview: {stack}", time.monotonic() - began, "s", limit=PREVIEW_SECONDS_MAX)
