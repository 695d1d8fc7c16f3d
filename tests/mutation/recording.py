"""Recording of the lines that each test executes and its duration, from which tests are chosen.

All tests run once under coverage, each folder of TESTS in a process of its own
(`python -m tests.mutation.recording`). The result is kept in `.muster/mutants`, under a name made from the
sources, so that it is recorded once for each state of them.
"""

import hashlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import coverage
import pytest

from tests.mutation.mutants import CHECKOUT, PACKAGES, Mutant, source_files

CASES = "tests/conformance/test_cases.py"
SCENARIOS = "tests/simulation/test_scenarios.py"
TESTS = (
    *(f"tests/unit/{directory}" for directory in ("admission", "objects", "translation", "controller")),
    SCENARIOS,
    CASES,
)
KINDS = ("*.py", "*.json")
WITHOUT = ("xdist", "cacheprovider", "faulthandler")
PYTEST = ("-q", "-s", "--no-header", "--tb=line", *(f"-pno:{plugin}" for plugin in WITHOUT))
BUDGET_S = 30.0
"""A mutant that no test has killed after this CPU time (as under coverage) has survived."""
EXAMPLES = 15
"""Examples per property, instead of Hypothesis' default of 100, which would exceed the time budget."""
SLOW_S = 4.0
"""A test that takes more CPU time under coverage is aborted, and tries no mutant."""
LEFT_BEHIND = "-Wignore::pytest.PytestUnraisableExceptionWarning"
"""Warnings about coroutines of an aborted test, which must not fail the next test."""
QUICK_S = 0.5
"""Mutants of declarations (constants, fields, default arguments) are tested by the tests below this."""

IMPORT = "(import)"
"""The name used as the test for lines that run when `muster` is imported."""


@dataclass(frozen=True)
class Recording:
    """CPU seconds of each test under coverage, and for each line of each file the tests that execute it.

    Among those, a test file is the test for lines that its import runs, for example to build parameters.
    """

    seconds: Mapping[str, float]
    executed: Mapping[str, Mapping[str, list[int]]]
    contexts: list[str]

    def choose(self, mutant: Mutant) -> tuple[set[str], set[str]]:
        """Returns the tests for a warm trial of the mutant, then those for a cold one; both may be empty."""
        lines = self.executed.get(mutant.path, {})
        numbers = (n for line in range(mutant.first, mutant.last + 1) for n in lines.get(str(line), ()))
        chosen_tests = {self.contexts[number] for number in numbers}
        warm = chosen_tests & self.seconds.keys()
        cold = {
            name
            for name, seconds in self.seconds.items()
            if name.split("::")[0] in chosen_tests or (IMPORT in chosen_tests and seconds < QUICK_S)
        }
        return warm, warm | cold if cold else cold


def recording() -> Recording:
    """Returns the recording for the current sources; creates it if there is none.

    Raises:
        RuntimeError: a test fails without any mutation.
    """
    stored_recording = recording_path()
    parts = {tests: stored_recording.with_suffix(f".{number}.json") for number, tests in enumerate(TESTS)}
    if missing := {tests: part for tests, part in parts.items() if not part.exists()}:
        print(f"recording which test executes which line (once; {stored_recording.parent}) ...", flush=True)
        command = sys.executable, "-m", "tests.mutation.recording"
        runs = [subprocess.Popen([*command, tests, part], cwd=CHECKOUT) for tests, part in missing.items()]
        if [run for run in runs if run.wait()]:
            raise RuntimeError("the tests fail without any mutation; see above")
    return joined(Recording(**json.loads(part.read_text())) for part in parts.values())


def joined(parts: Iterable[Recording]) -> Recording:
    """Returns one recording of all the tests that were recorded in parts."""
    seconds: dict[str, float] = {}
    executed: dict[str, dict[str, list[int]]] = {}
    contexts: list[str] = []
    for part in parts:
        seconds |= part.seconds
        for path, lines in part.executed.items():
            of_file = executed.setdefault(path, {})
            for line, numbers in lines.items():
                of_file.setdefault(line, []).extend(len(contexts) + number for number in numbers)
        contexts += part.contexts
    return Recording(seconds, executed, contexts)


class Deterministic:
    """A pytest plugin: Hypothesis tries the same examples in each run, fewer than usual, and does not shrink
    those that fail."""

    def pytest_configure(self) -> None:
        import hypothesis  # imported here because pytest must see it first

        hypothesis.settings.register_profile(
            "mutation",
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        hypothesis.settings.load_profile("mutation")


def recording_path() -> Path:
    from tests.conformance.recorder.record import (
        cached_cases,
    )  # only after coverage sees the import of muster

    digest = hashlib.sha256(sys.version.encode())
    folders = [CHECKOUT / name for name in ("muster", "tests/conformance", *TESTS)]
    if (cases := cached_cases()) is not None:
        folders.append(cases)
    files = (path for folder in folders for kind in KINDS for path in folder.rglob(kind))
    for path in sorted(files):
        digest.update(os.path.relpath(path, CHECKOUT).encode() + path.read_bytes())
    return CHECKOUT / ".muster" / "mutants" / f"{digest.hexdigest()[:16]}.json"


class _Recorder(Deterministic):
    """A pytest plugin that tells coverage which test runs, and records its duration."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.seconds: dict[str, float] = {}
        self._measured = measured

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        if isinstance(collector, pytest.Module):
            self._measured.switch_context(collector.nodeid)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._measured.switch_context(nodeid)
        self.seconds[nodeid] = -time.process_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        def give_up(*_: object) -> None:
            del self.seconds[item.nodeid]
            pytest.skip(f"takes more than {SLOW_S} s")

        signal.signal(signal.SIGPROF, give_up)
        signal.setitimer(signal.ITIMER_PROF, SLOW_S)
        try:
            return (yield)
        except BaseException:
            if item.nodeid in self.seconds:
                raise
            pytest.skip(f"takes more than {SLOW_S} s")  # whatever the test did with the abort
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if nodeid in self.seconds:
            self.seconds[nodeid] += time.process_time()


def _record(tests: str, stored_recording: Path) -> int:
    measured = coverage.Coverage(data_file=None, config_file=False, source=list(PACKAGES))
    measured.start()
    measured.switch_context(IMPORT)
    for path in source_files():
        importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    recorder = _Recorder(measured)
    code = int(pytest.main([*PYTEST, LEFT_BEHIND, tests], plugins=[recorder]))
    measured.stop()
    if code:
        return code
    data = measured.get_data()
    contexts = sorted(data.measured_contexts())
    number = {name: place for place, name in enumerate(contexts)}
    executed = {
        str(Path(file).relative_to(CHECKOUT)): {
            line: [number[name] for name in names if name]
            for line, names in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    stored_recording.parent.mkdir(parents=True, exist_ok=True)
    stored_recording.write_text(
        json.dumps({"seconds": recorder.seconds, "executed": executed, "contexts": contexts})
    )
    return 0


if __name__ == "__main__":
    sys.exit(_record(sys.argv[1], Path(sys.argv[2])))
