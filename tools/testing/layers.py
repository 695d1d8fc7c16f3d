"""Test layers: the sessions that nox runs (noxfile.py), with their commands."""

import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tools.testing.effort import EXAMPLES_PERCENT, HISTORIES, MUTANTS, MUTANTS_SEED, THOROUGH
from tools.toolchain.paths import CHECKOUT

LOGS = CHECKOUT / ".muster" / "test-logs"
QUICK = "--quick"
"""The option of pytest that skips tests with the mark `thorough` (tests/conftest.py)."""
Command = tuple[str, ...]


class Lane(Enum):
    """Layers of one lane run in sequence, and lanes in parallel. On two cores all of them keep both busy."""

    TWO_PROCESSES = "two processes"
    ONE_PROCESS = "one process"
    """Types and the C compiler use one core."""
    WAITING = "waiting"
    NODES = "nodes"
    """These two get the CPU first: they wait for clusters or a browser most of the time."""


@dataclass(frozen=True)
class Layer:
    """Commands that run in order; the layer passes if all of them exit with 0.

    together: they run in parallel instead.
    shared_cluster: its tests share a cluster, which every process of pytest would start.
    on_demand: it takes minutes, and runs only if it is selected by name.
    selected_commands: those that run instead if it is selected by name, with the tests that take minutes.
    Tests with the mark `thorough` are skipped outside continuous integration, unless it is selected by name.
    """

    key: str
    title: str
    commands: tuple[Command, ...]
    together: bool = False
    lane: Lane = Lane.TWO_PROCESSES
    on_demand: bool = False
    shared_cluster: bool = False
    selected_commands: tuple[Command, ...] = ()

    def run_commands(self, *, selected: bool) -> tuple[Command, ...]:
        """Returns the commands for this run."""
        commands = (self.selected_commands if selected else ()) or self.commands
        if selected or THOROUGH:
            return commands
        return tuple((*command, QUICK) if "pytest" in command else command for command in commands)

    @property
    def log(self) -> Path:
        """The output of its last run."""
        return LOGS / f"{self.key}.log"


def module(*arguments: str) -> Command:
    """Returns the command that runs a Python module."""
    return (sys.executable, "-m", *arguments)


def pytest(key: str, *arguments: str, profile: str = "test", report: str = "") -> Command:
    """Returns pytest with a Hypothesis profile of tests/conftest.py and a JUnit report."""
    path = f"--junitxml={LOGS / (report or key)}.xml"
    return module("pytest", "-q", "--color=no", f"--hypothesis-profile={profile}", path, *arguments)


TWO_PROCESSES = ("--numprocesses=2", "--dist=worksteal")


def _tests(
    key: str,
    title: str,
    *before: Command,
    lane: Lane = Lane.TWO_PROCESSES,
    on_demand: bool = False,
) -> Layer:
    processes = () if lane is Lane.ONE_PROCESS else TWO_PROCESSES
    command = pytest(key, *processes, f"tests/{key}")
    return Layer(key, title, (*before, command), lane=lane, on_demand=on_demand)


def _cluster_tests(key: str, title: str, lane: Lane) -> Layer:
    """Returns a layer whose tests of one cluster run in one process, and all others in another: starting a
    second cluster takes longer than the tests. (pytest-xdist 3.8 ignores groups with pytest 9.2.)"""
    marks = {"shared": "shared", "others": "not shared"}
    commands = (
        pytest(key, "-m", expression, f"tests/{key}", report=f"{key}-{part}")
        for part, expression in marks.items()
    )
    return Layer(key, title, tuple(commands), together=True, lane=lane, shared_cluster=True)


RECORD = module("tests.conformance", "--record")
"""Records Kueue's cases, unless they are in the cache; runs started together wait for one another."""
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
    lane=Lane.ONE_PROCESS,
)
LAYERS = (
    LINT,
    _tests("unit", f"unit and property tests ({EXAMPLES_PERCENT} % of the examples)"),
    _tests("mistakes", f"{MUTANTS} mutants of the shipped stack files (MUTANTS_SEED={MUTANTS_SEED})"),
    _cluster_tests("stacks", "previews, policies, charts, the API server's answers", Lane.TWO_PROCESSES),
    _tests("conformance", "conformance with Kueue's own cases", RECORD),
    _tests(
        "compiled", "the admission core as the controller's image compiles it", RECORD, lane=Lane.ONE_PROCESS
    ),
    _tests("simulation", f"simulation with faults ({HISTORIES} random histories, seeds from 0)"),
    _cluster_tests("sandbox", "end to end", Lane.WAITING),
    _tests("browser", "the pages of forecasts and of clusters in a real browser", lane=Lane.NODES),
    Layer(
        "nodes",
        "pods on real nodes",
        (pytest("nodes", "tests/nodes/test_real_nodes.py"),),
        lane=Lane.NODES,
        shared_cluster=True,
        selected_commands=(pytest("nodes", "tests/nodes"),),
    ),
    _tests("ray", "a preempted training that a real Ray resumes", lane=Lane.WAITING, on_demand=True),
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
    (
        pytest(
            "check",
            *TWO_PROCESSES,
            "-m",
            "not slow and not thorough",
            *(f"tests/unit/{name}" for name in FAST),
            profile="check",
        ),
    ),
)
"""With LINT in `make check`, which takes seconds: run it before each commit."""
