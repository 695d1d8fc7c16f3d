"""Small jobs around the code: locking dependencies, formatting, measuring, keeping what is generated."""

import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sandbox.golden import golden
from sandbox.paths import CHECKOUT
from stacks.reference import reference

PYTHON_OLDEST = "3.11"
LOCKED = (
    "requirements",
    "requirements-go",
    "requirements-controller",
)  # the last at the versions of the first


def lock() -> int:
    """Resolves each requirements*.in anew into its lock file, with hashes."""
    for name in LOCKED:
        arguments = ["pip", "compile", "--quiet", "--universal", "--python-version", PYTHON_OLDEST]
        arguments += ["--generate-hashes", "--no-header", "--no-emit-index-url"]
        if code := _run("uv", *arguments, f"{name}.in", "--output-file", f"{name}.lock"):
            return code
    return 0


def format_code() -> int:
    """Formats the code and mends what the linter can mend."""
    return _run("ruff", "check", "--fix", ".") or _run("ruff", "format", ".")


def docs() -> int:
    """Writes the settings reference anew from the models."""
    (CHECKOUT / "docs" / "settings.md").write_text(reference())
    return 0


CONFORMANCE_OPTIONS = {
    "--cases": "a folder of cases of Kueue's own tests",
    "--suite": "only suites whose name contains this",
    "--seeds": "play so many random histories through the real Kueue instead",
    "--seed-base": "the first seed",
}


def conformance(chosen: Mapping[str, Any]) -> int:
    """Holds the core against Kueue: its own cases, or random histories."""
    return _run("tests.conformance", *_arguments(CONFORMANCE_OPTIONS, chosen))


MUTANTS_OPTIONS = {
    "--sample": "try so many random mutants of each package (all)",
    "--seed": "of the random choice (0)",
    "--module": "only files that begin so, for example: muster/admission/quota",
    "--workers": "mutants that are tried at a time (one a core)",
}


def mutants(chosen: Mapping[str, Any]) -> int:
    """Changes the core and the controller in one place at a time: do the tests notice?"""
    return _run("tests.mutation", *_arguments(MUTANTS_OPTIONS, chosen))


FUZZ_OPTIONS = {
    "--histories": "how many random histories (2000)",
    "--seed": "the first seed (0)",
    "--failures": "stop after so many different ones (1)",
    "--replay": "play the history in this file instead",
}


def fuzz(chosen: Mapping[str, Any]) -> int:
    """Plays random histories in the simulation, and shortens those that break something."""
    return _run("tests.simulation.histories", *_arguments(FUZZ_OPTIONS, chosen))


STORM_OPTIONS = {
    "--minutes": "how long (5)",
    "--seed": "decides which trouble comes when (0)",
}


def storm(chosen: Mapping[str, Any]) -> int:
    """A storm on a real API server, in a sandbox of its own; every revision is judged."""
    return _run("tests.storm", *_arguments(STORM_OPTIONS, chosen))


def coverage() -> int:
    """Branch coverage of the core by its own tests; anything less than all of it is an error."""
    tests = ("-m", "pytest", "-q", "--numprocesses=2", "--dist=worksteal", "tests/unit/admission")
    return (
        _run("coverage", "erase")
        or _run("coverage", "run", *tests)
        or _run("coverage", "combine", "--quiet")
        or _run("coverage", "report", "--fail-under=100")
    )


def bench() -> int:
    """Prints what this machine needs for each part, beside the targets."""
    return _run("tests.bench")


def _arguments(options: Iterable[str], chosen: Mapping[str, Any]) -> list[str]:
    """The options that were given, with their values, for another command line."""
    given = {option: chosen[option.strip("-").replace("-", "_")] for option in options}
    return [text for option, value in given.items() if value for text in (option, value)]


def _run(module: str, *arguments: str) -> int:
    return subprocess.call([sys.executable, "-m", module, *arguments], cwd=CHECKOUT)


CHORES: tuple[tuple[str, Callable[[], int], str], ...] = (
    ("bench", bench, "measure up, previews, admission and the controller"),
    ("coverage", coverage, "branch coverage of muster/admission by its unit tests: all of it, or an error"),
    ("docs", docs, "write docs/settings.md from the models of the settings"),
    ("golden", golden, "accept the plans of all stacks as they are now"),
    ("lock", lock, "resolve the Python dependencies anew"),
    ("format", format_code, "format the code"),
)
