"""One trial: a mutant replaces the original code, and tests run until one fails.

Warm: in a child forked from a process that has collected all tests, the code of the functions is exchanged.
Cold: in a new interpreter, the changed module is imported instead of the original; for declarations, which
take effect on import, and for code that test files run when they are imported.
"""

import functools
import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, FunctionType, ModuleType

import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.mutants import CHECKOUT, Mutant
from tests.mutation.recording import PYTEST, Deterministic

SURVIVED, KILLED = 0, 1
NO_MUTANT = -1
MEMORY_BYTES_MAX = 8 << 30
IMPORT_S = 30.0


class NotExchangeable(Exception):
    """The mutant changes no function in place: its module must be imported again."""


def run_tests(items: Sequence[pytest.Item], seconds: Mapping[str, float]) -> str | None:
    """Runs tests in order; returns the name of the first that fails.

    The kernel ends the process by SIGPROF or SIGALRM when a test takes many times longer than it should.
    """
    for item, following in zip(items, [*items[1:], None], strict=True):
        limit_time(seconds[item.nodeid])
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return None


def limit_time(expected_s: float) -> None:
    """Lets the kernel end this process after several times the expected CPU time, or much more waiting."""
    signal.setitimer(signal.ITIMER_PROF, 5 + 5 * expected_s)
    signal.setitimer(signal.ITIMER_REAL, 60 + 60 * expected_s)


def limit_memory() -> None:
    """Turns endless allocation into a MemoryError."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))


def functions_by_file() -> dict[str, list[FunctionType]]:
    """Returns the functions of this process that were compiled from files of the checkout, by file."""
    by_file: dict[str, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(str(CHECKOUT)):
            by_file.setdefault(thing.__code__.co_filename, []).append(thing)
    return by_file


def exchange(functions: Iterable[FunctionType], original: CodeType, changed: CodeType) -> None:
    """Gives each function its code in the changed module.

    Raises:
        NotExchangeable: no function changes, or its nested functions or closure do not match.
    """
    before, after = list(_codes(original)), list(_codes(changed))
    if [code.co_qualname for code in before] != [code.co_qualname for code in after]:
        raise NotExchangeable
    new = {old: code for old, code in zip(before, after, strict=True) if old != code}
    touched = [(function, new[function.__code__]) for function in functions if function.__code__ in new]
    if not touched:
        raise NotExchangeable
    for function, code in touched:
        try:
            function.__code__ = code
        except ValueError as error:  # a variable of the closure was added or removed
            raise NotExchangeable from error


def clear_caches() -> None:
    """Empties functools.lru_cache caches, which were filled by the original code."""
    for thing in gc.get_objects():
        if isinstance(thing, functools._lru_cache_wrapper) and thing.__module__.startswith("muster."):
            thing.cache_clear()


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


class _Importer(MetaPathFinder):
    """Imports one module from the code of a mutant."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("muster."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin != self._mutant.file:
            return None
        spec.loader = _Loader(fullname, spec.origin)
        spec.loader.code = self._mutant.compile()
        return spec


class _Loader(SourceFileLoader):
    code: CodeType

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class _ColdTrial(Deterministic):
    """A pytest plugin that runs the chosen tests in their order and ends the process with the verdict."""

    def __init__(self, seconds: Mapping[str, float], result: int) -> None:
        self._seconds = seconds
        self._result = result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            end("(import of the tests)", self._result)
        items = {item.nodeid: item for item in session.items}
        end(run_tests([items[name] for name in self._seconds if name in items], self._seconds), self._result)
        return True


def end(killed_by: str | None, result: int) -> None:
    """Writes which test failed, if any, and ends the process without any clean-up."""
    os.write(result, (killed_by or "").encode())
    os._exit(KILLED if killed_by else SURVIVED)


def main(arguments: Sequence[str]) -> None:
    """Runs one cold trial: file, number of the mutant or NO_MUTANT, file descriptor of the result.

    Standard input has the tests in order and their seconds as JSON.
    """
    path, number, result = arguments[0], int(arguments[1]), int(arguments[2])
    limit_time(IMPORT_S)
    limit_memory()
    seconds: dict[str, float] = json.load(sys.stdin)
    if number != NO_MUTANT:
        sys.meta_path.insert(0, _Importer(Mutant(path, number, "", 0, 0)))
    files = sorted({name.split("::")[0] for name in seconds})
    pytest.main([*PYTEST, *files], plugins=[_ColdTrial(seconds, result)])
    end("(import of the tests)", result)


if __name__ == "__main__":
    main(sys.argv[1:])
