"""Test layers: the sessions that nox runs (noxfile.py), with their commands."""

import sys
from dataclasses import dataclass
from pathlib import Path

from tools.testing.effort import EXAMPLES_PERCENT, HISTORIES, MUTANTS, MUTANTS_SEED
from tools.toolchain.paths import CHECKOUT

LOGS = CHECKOUT / ".muster" / "test-logs"
Command = tuple[str, ...]


@dataclass(frozen=True)
class Layer:
    """Commands that run in order; the layer passes if all of them exit with 0.

    alongside: it runs next to the other layers and gets the CPU first; it waits for a cluster or a browser
    most of the time.
    on_demand: it takes minutes, and runs only if it is selected.
    """

    key: str
    title: str
    commands: tuple[Command, ...]
    alongside: bool = False
    on_demand: bool = False

    @property
    def log(self) -> Path:
        """The output of its last run."""
        return LOGS / f"{self.key}.log"


def module(*arguments: str) -> Command:
    """Returns the command that runs a Python module."""
    return (sys.executable, "-m", *arguments)


def pytest(key: str, *arguments: str, profile: str = "test", dist: str = "worksteal") -> Command:
    """Returns pytest in two processes, with a Hypothesis profile of tests/conftest.py and a JUnit report."""
    parallel = ("--numprocesses=2", f"--dist={dist}")
    report = f"--junitxml={LOGS / key}.xml"
    return module(
        "pytest", "-q", "--color=no", *parallel, f"--hypothesis-profile={profile}", report, *arguments
    )


def _tests(key: str, title: str, *before: Command, dist: str = "worksteal", **options: bool) -> Layer:
    return Layer(key, title, (*before, pytest(key, f"tests/{key}", dist=dist)), **options)


LINT = Layer(
    "lint",
    "lint and types",
    (
        module("ruff", "check", "--output-format=concise", "."),
        module("ruff", "format", "--check", "--quiet", "."),
        (str(Path(sys.executable).with_name("lint-imports")), "--no-logo"),
        module("tools", "prose"),
        module("tools", "types"),
    ),
)
# Tests of a layer with dist="loadgroup" that share a cluster run in one process (tests/conftest.py).
LAYERS = (
    LINT,
    _tests("unit", f"unit and property tests ({EXAMPLES_PERCENT} % of the examples)"),
    _tests("mistakes", f"{MUTANTS} mutants of the shipped stack files (MUTANTS_SEED={MUTANTS_SEED})"),
    _tests("stacks", "previews, policies, charts, the API server's answers", dist="loadgroup"),
    _tests("conformance", "conformance with Kueue's own cases", module("tests.conformance", "--record")),
    _tests("compiled", "the admission core as the controller's image compiles it"),
    _tests("simulation", f"simulation with faults ({HISTORIES} random histories, seeds from 0)"),
    _tests("sandbox", "end to end", dist="loadgroup", alongside=True),
    _tests("browser", "the pages of forecasts and of clusters in a real browser", alongside=True),
    _tests("ray", "a preempted training that a real Ray resumes", alongside=True, on_demand=True),
)

# Directories of unit tests that neither import the Pulumi SDK nor start processes, which would be slow.
FAST = (
    "admission",
    "cli",
    "cluster",
    "configuration",
    "controller",
    "docs",
    "forecast",
    "kube",
    "objects",
    "policies",
    "settings",
    "tools",
    "translation",
)
FAST_TESTS = Layer(
    "check",
    "fast unit tests",
    (pytest("check", "-m", "not slow", *(f"tests/unit/{name}" for name in FAST), profile="check"),),
    alongside=True,
)
"""With LINT in `make check`, which takes seconds: run it before each commit."""
