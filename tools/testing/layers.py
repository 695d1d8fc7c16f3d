"""Test layers: their commands, and which layers run in parallel."""

import sys
from dataclasses import dataclass
from pathlib import Path

from tools.testing.effort import EXAMPLES_PERCENT, HISTORIES, MUTANTS, MUTANTS_SEED
from tools.toolchain.paths import CHECKOUT

LOGS = CHECKOUT / ".muster" / "test-logs"
PROFILE = "test"
"""Hypothesis profile (tests/conftest.py) of `make test`."""

CLUSTERS = ("stacks", "sandbox")


@dataclass(frozen=True)
class Layer:
    """Commands that run in order; the layer passes if all of them exit with 0.

    `key` selects the layer on the command line. The output of a `live` layer is shown while it runs; of other
    layers, only the end is shown, and only if they fail. `together`: the commands run in parallel. `waits`:
    the layer spends most of its time waiting for a cluster or a browser, so it runs in parallel with the
    CPU-bound layers. `on_demand`: the layer takes minutes, and runs only if it is selected.
    """

    key: str
    name: str
    commands: tuple[tuple[str, ...], ...]
    live: bool = True
    together: bool = False
    waits: bool = False
    on_demand: bool = False


def _module(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *arguments)


def pytest_commands(key: str, folder: Path, *options: str) -> tuple[tuple[str, ...], ...]:
    """Returns the commands of a layer, which run in parallel on CI's two cores; each reports to `folder`.

    In layers that start clusters, tests that share a cluster run in one process, and all others in another.
    """

    def command(part: str, *workers: str) -> tuple[str, ...]:
        quiet = ("-q", "--color=no", f"--hypothesis-profile={PROFILE}")
        return _module(
            "pytest", *quiet, *workers, *options, f"--junitxml={folder / part}.xml", f"tests/{key}"
        )

    if key not in CLUSTERS:
        return (command(key, "--numprocesses=2", "--dist=worksteal"),)
    return command(f"{key}-shared", "-m", "shared"), command(f"{key}-others", "-m", "not shared")


def _pytest(key: str, name: str, *, waits: bool = False, on_demand: bool = False) -> Layer:
    commands = pytest_commands(key, LOGS)
    return Layer(key, name, commands, together=True, waits=waits, on_demand=on_demand)


LAYERS: tuple[Layer, ...] = (
    Layer(
        "lint",
        "lint and types",
        (
            _module("ruff", "check", "--output-format=concise", "."),
            _module("ruff", "format", "--check", "--quiet", "."),
            _module("tools", "types"),
            (str(Path(sys.executable).with_name("lint-imports")), "--no-logo"),
            _module("tools", "prose"),
        ),
        live=False,
        together=True,
    ),
    _pytest("unit", f"unit and property tests ({EXAMPLES_PERCENT} % of the examples)"),
    _pytest("mistakes", f"{MUTANTS} mutants of the shipped stack files (MUTANTS_SEED={MUTANTS_SEED})"),
    _pytest("stacks", "previews, policies, charts, the API server's answers"),
    Layer(
        "conformance",
        "conformance with Kueue's own cases",
        (_module("tests.conformance", "--record"), *pytest_commands("conformance", LOGS)),
    ),
    _pytest("compiled", "the admission core as the controller's image compiles it"),
    _pytest("simulation", f"simulation with faults ({HISTORIES} random histories, seeds from 0)"),
    _pytest("sandbox", "end to end", waits=True),
    _pytest("browser", "the pages of forecasts and of clusters in a real browser", waits=True),
    _pytest("ray", "a preempted training that a real Ray resumes", waits=True, on_demand=True),
)

KEYS = tuple(layer.key for layer in LAYERS)
USUAL = tuple(layer for layer in LAYERS if not layer.on_demand)

# Directories of unit tests that neither import the Pulumi SDK nor start processes, which would be slow.
FAST = (
    "admission",
    "cli",
    "cluster",
    "configuration",
    "controller",
    "tools",
    "docs",
    "forecast",
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
"""Layers of `make check`, which takes seconds: run it before each commit."""
