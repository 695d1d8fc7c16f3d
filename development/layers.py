"""The layers of the tests: their commands, and which of them run side by side."""

import sys
from dataclasses import dataclass
from pathlib import Path

from development.effort import EXAMPLES_PERCENT, HISTORIES, HISTORIES_IN_CI, THOROUGH
from sandbox.toolchain.paths import CHECKOUT

LOGS = CHECKOUT / ".muster" / "test-logs"
PROFILE = "test"
"""The profile of Hypothesis (tests/conftest.py) in `make test`."""

REDUCED = "" if THOROUGH else f"; CI=1 tries more: {HISTORIES_IN_CI} histories, all examples of properties"


@dataclass(frozen=True)
class Layer:
    """Commands that run in order; the layer passes if all of them exit with 0.

    `key` selects this layer on the command line. A `live` layer's output is shown while it runs, that of
    others only if they fail, and only its end. `together`: the commands run at the same time. `waits`: for
    processes of a cluster, most of its time; so it runs beside the layers that compute.
    """

    key: str
    name: str
    commands: tuple[tuple[str, ...], ...]
    live: bool = True
    together: bool = False
    waits: bool = False


def _module(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *arguments)


def _pytest(key: str, name: str, *options: str, waits: bool = False) -> Layer:
    """Returns a layer for CI's two cores: two workers, each with its own cluster if tests need one."""
    workers = ("--numprocesses=2", f"--dist={'loadfile' if waits else 'worksteal'}")
    report = f"--junitxml={LOGS / key}.xml"
    command = _module("pytest", "-q", "--color=no", *workers, *options, report, f"tests/{key}")
    return Layer(key, name, (command,), waits=waits)


LAYERS: tuple[Layer, ...] = (
    Layer(
        "lint",
        "lint and types",
        (
            _module("ruff", "check", "--output-format=concise", "."),
            _module("ruff", "format", "--check", "--quiet", "."),
            _module("development", "types"),
            (str(Path(sys.executable).with_name("lint-imports")), "--no-logo"),
            _module("development", "words"),
        ),
        live=False,
        together=True,
    ),
    _pytest(
        "unit",
        f"unit and property tests ({EXAMPLES_PERCENT} % of the examples)",
        f"--hypothesis-profile={PROFILE}",
    ),
    _pytest("stacks", "previews, policies, charts, the API server's answers", waits=True),
    _pytest("conformance", "conformance with Kueue's own cases"),
    _pytest("simulation", f"simulation with faults ({HISTORIES} random histories, seeds from 0)"),
    _pytest("browser", "the page of a forecast in a real browser", waits=True),
    _pytest("sandbox", "end to end", waits=True),
)

KEYS = tuple(layer.key for layer in LAYERS)

# Directories of unit tests that import no Pulumi SDK and start no process: these take longest.
FAST = (
    "admission",
    "cli",
    "configuration",
    "controller",
    "development",
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
"""The layers of `make check`: seconds instead of minutes, for use before each commit."""
