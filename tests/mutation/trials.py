"""Trials of many mutants: one forked child each, from a process that has collected all tests."""

import gc
import json
import os
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from pathlib import PurePath
from types import FunctionType
from typing import NoReturn

import pytest

from tests.mutation import trial
from tests.mutation.mutants import Mutant
from tests.mutation.recording import BUDGET_S, PYTEST, TESTS, Deterministic, Recording


class Verdict(Enum):
    """The result of a trial. Timeouts count as killed: the tests noticed."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    SURVIVED = "survived"
    UNTESTED = "untested"


@dataclass(frozen=True)
class Result:
    """The verdict on one mutant and the test that killed it."""

    mutant: Mutant
    verdict: Verdict
    killed_by: str = ""

    @property
    def survived(self) -> bool:
        """Whether no test failed."""
        return self.verdict in (Verdict.SURVIVED, Verdict.UNTESTED)


@dataclass(frozen=True)
class _Child:
    mutant: Mutant
    result: int


def run_trials(
    mutants: Sequence[Mutant], recorded: Recording, workers: int, done: Callable[[Result], None]
) -> None:
    """Tries all mutants in this process's children, `workers` at a time; reports each to `done`.

    Raises:
        RuntimeError: the tests cannot be collected, or fail in a trial without any mutation.
    """
    trials = _Trials(mutants, recorded, workers, done)
    code = pytest.main([*PYTEST, *TESTS], plugins=[trials])
    if trials.problem or code:
        raise RuntimeError(trials.problem or f"pytest ended with {int(code)}; see above")


class _Trials(Deterministic):
    """A pytest plugin that runs trials in place of the tests."""

    def __init__(
        self,
        mutants: Sequence[Mutant],
        recorded: Recording,
        workers: int,
        done: Callable[[Result], None],
    ) -> None:
        self.problem = ""
        self._waiting = deque(mutants)
        self._recorded = recorded
        self._workers = workers
        self._done = done
        self._kills: Counter[tuple[str, str]] = Counter()
        """Returns how often a test killed a mutant of a file; such tests run first."""
        self._children: dict[int, _Child] = {}
        self._items: Mapping[str, pytest.Item] = {}
        self._functions: Mapping[str, list[FunctionType]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            self.problem = "the tests can't be collected; see above"
            return True
        self._items = {item.nodeid: item for item in session.items}
        trial.clear_caches()
        self._functions = trial.functions_by_file()
        gc.freeze()  # children share these pages for longer
        self.problem = self._without_mutation()
        if self.problem:
            return True
        while self._waiting or self._children:
            while self._waiting and len(self._children) < self._workers:
                self._start(self._waiting.popleft())
            if self._children:
                self._wait()
        return True

    def _start(self, mutant: Mutant) -> None:
        warm, cold = self._recorded.choose(mutant)
        if not warm and not cold:
            self._done(Result(mutant, Verdict.UNTESTED))
            return
        ordered = self._in_order(mutant.path, warm), self._in_order(mutant.path, cold)
        pid, read = _fork(lambda result: self._try(mutant, *ordered, result))
        self._children[pid] = _Child(mutant, read)

    def _without_mutation(self) -> str:
        """Runs the fastest tests in a warm and in a cold trial; returns what fails.

        If something failed there, every mutant would seem to be killed.
        """
        tests = self._in_order("", set(self._recorded.seconds))
        items = [self._items[name] for name in tests]
        for run in (
            lambda result: trial.end(trial.run_tests(items, tests), result),
            lambda result: _run_cold("", trial.NO_MUTANT, tests, result),
        ):
            pid, read = _fork(run)
            _, status = os.waitpid(pid, 0)
            with os.fdopen(read) as written:
                failed = written.read()
            if status:
                return f"a trial without any mutation fails: {failed or f'status {status}'}"
        return ""

    def _in_order(self, path: str, tests: set[str]) -> dict[str, float]:
        """Returns the seconds of tests: first those that killed mutants of this file, then those of its
        own room, then the fastest. Those after BUDGET_S are left out.
        """
        seconds = self._recorded.seconds
        room = f"tests/unit{PurePath(path).parent.as_posix().removeprefix('muster')}/"

        def place(name: str) -> tuple[int, bool, float, str]:
            return -self._kills[path, name], not name.startswith(room), seconds[name], name

        ordered = sorted(tests, key=place)
        sums = accumulate(seconds[name] for name in ordered)
        return {name: seconds[name] for name, sum_s in zip(ordered, sums, strict=True) if sum_s < BUDGET_S}

    def _try(self, mutant: Mutant, warm: dict[str, float], cold: dict[str, float], result: int) -> None:
        """Runs the warm trial, then the cold one if it runs more lines."""
        functions = self._functions.get(mutant.file, ())
        try:
            trial.exchange(functions, mutant.compile_original(), mutant.compile())
        except trial.NotExchangeable:
            _run_cold(mutant.path, mutant.number, cold or warm, result)
        killed_by = trial.run_tests([self._items[name] for name in warm], warm)
        if killed_by or not cold:
            trial.end(killed_by, result)
        _run_cold(mutant.path, mutant.number, cold, result)

    def _wait(self) -> None:
        pid, status = os.waitpid(-1, 0)
        child = self._children.pop(pid, None)
        if child is None:
            return
        with os.fdopen(child.result) as written:
            killed_by = written.read()
        if killed_by:
            self._kills[child.mutant.path, killed_by] += 1
        verdict = Verdict.KILLED if status else Verdict.SURVIVED
        if os.WIFSIGNALED(status):
            verdict = Verdict.TIMEOUT
        self._done(Result(child.mutant, verdict, killed_by))


def _fork(run: Callable[[int], None]) -> tuple[int, int]:
    """Calls `run` with the file descriptor for its result in a silent child.

    Returns the child's process ID and the file descriptor to read the result from.
    """
    read, write = os.pipe()
    if pid := os.fork():
        os.close(write)
        return pid, read
    try:
        os.close(read)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        trial.limit_memory()
        run(write)
    finally:
        os._exit(trial.KILLED)


def _run_cold(path: str, number: int, tests: Mapping[str, float], result: int) -> NoReturn:
    """Becomes the new interpreter of a cold trial."""
    with tempfile.TemporaryFile("w+") as stdin_file:
        json.dump(tests, stdin_file)
        stdin_file.flush()
        os.lseek(stdin_file.fileno(), 0, os.SEEK_SET)
        os.dup2(stdin_file.fileno(), 0)
    os.set_inheritable(result, True)
    arguments = [path, str(number), str(result)]
    os.execv(sys.executable, [sys.executable, "-m", "tests.mutation.trial", *arguments])
