"""Runs test layers one after the other, each in its own processes, with its log and duration."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from xml.etree import ElementTree

from sandbox.toolchain.paths import CHECKOUT
from sandbox.toolchain.steps import tail

LOGS = CHECKOUT / ".muster" / "test-logs"


@dataclass(frozen=True)
class Layer:
    """Commands that run in order; the layer passes if all of them exit with 0.

    `key` selects this layer on the command line. A `live` layer's output is shown while it runs, that of
    others only if they fail, and only its end.
    """

    key: str
    name: str
    commands: tuple[tuple[str, ...], ...]
    live: bool = True


@dataclass(frozen=True)
class Counts:
    """Tests of one or more layers."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def _module(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *arguments)


def _pytest(key: str, name: str, distribution: str = "worksteal") -> Layer:
    """Returns a layer for CI's two cores: two workers, each with its own cluster if tests need one."""
    workers = ("--numprocesses=2", f"--dist={distribution}")
    report = f"--junitxml={LOGS / key}.xml"
    return Layer(key, name, (_module("pytest", "-q", "--color=no", *workers, report, f"tests/{key}"),))


LAYERS: tuple[Layer, ...] = (
    Layer(
        "lint",
        "lint and types",
        (
            _module("ruff", "check", "--output-format=concise", "."),
            _module("ruff", "format", "--check", "--quiet", "."),
            _module("mypy"),
            (str(Path(sys.executable).with_name("lint-imports")), "--no-logo"),
            _module("development", "words"),
        ),
        live=False,
    ),
    _pytest("unit", "unit and property tests"),
    _pytest("stacks", "previews, policies, charts, the API server's answers", "loadfile"),
    _pytest("conformance", "conformance with Kueue's own cases"),
    _pytest("simulation", "simulation with faults"),
    _pytest("sandbox", "end to end"),
)

KEYS = tuple(layer.key for layer in LAYERS)

# Directories of unit tests that import no Pulumi SDK and start no process: these take longest.
FAST = (
    "admission",
    "controller",
    "development",
    "docs",
    "kube",
    "objects",
    "policies",
    "settings",
    "translation",
)
CHECK = (
    LAYERS[0],
    Layer(
        "check",
        "fast unit tests",
        (
            _module(
                *("pytest", "-q", "--color=no", "--numprocesses=2", "--dist=worksteal", "-m", "not slow"),
                *("--hypothesis-profile=check", f"--junitxml={LOGS / 'check'}.xml"),
                *(f"tests/unit/{directory}" for directory in FAST),
            ),
        ),
        live=False,
    ),
)
"""The layers of `make check`: seconds instead of minutes, for use before each commit."""


def run_layers(layers: Sequence[Layer], out: TextIO) -> int:
    """Runs all layers, also after one has failed; returns the exit code.

    The last line printed is `N passed, N failed, N skipped`, summed over the pytest layers.
    """
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    failed: list[str] = []
    for number, layer in enumerate(layers, start=1):
        place = f"[{number}/{len(layers)}] {layer.name}"
        print(f"{place} ...", file=out, flush=True)
        began = time.monotonic()
        log = LOGS / f"{layer.key}.log"
        results = [_run(command, log, out if layer.live else None) for command in layer.commands]
        verdict = "ok" if all(results) else "FAILED"
        print(f"{place}: {verdict} ({time.monotonic() - began:.1f} s)", file=out, flush=True)
        if not all(results):
            failed.append(layer.name)
            shown_already = "" if layer.live else f"\n{tail(log, lines=40)}"
            print(f"  log: {log}{shown_already}", file=out, flush=True)
    counts = sum((read_counts(report) for report in sorted(LOGS.glob("*.xml"))), Counts())
    if failed:
        print(f"failed: {', '.join(failed)}", file=out)
    print(counts, file=out, flush=True)
    return 1 if failed else 0


def _run(command: tuple[str, ...], log: Path, out: TextIO | None) -> bool:
    """Runs one command; writes its output to the log and, line by line, to `out` if given."""
    with log.open("a") as file:
        file.write(f"$ {' '.join(command)}\n")
        file.flush()
        child = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert child.stdout is not None
        try:
            with child.stdout as lines:
                for line in lines:
                    file.write(line)
                    if out is not None:
                        print(f"    {line}", end="", file=out, flush=True)
            return child.wait() == 0
        except BaseException:  # including Ctrl-C: pytest's fixtures need time to stop their clusters
            os.killpg(child.pid, signal.SIGINT)
            try:
                child.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
            raise


def read_counts(report: Path) -> Counts:
    """Returns the counts of one JUnit report; an error (a broken fixture) counts as failed."""
    total = Counts()
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        tests, skipped = int(suite.get("tests", "0")), int(suite.get("skipped", "0"))
        failed = int(suite.get("failures", "0")) + int(suite.get("errors", "0"))
        total += Counts(tests - failed - skipped, failed, skipped)
    return total
