"""The report of a run: each survivor with its location and change, then a table."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TextIO

from tests.mutation.mutants import PACKAGES
from tests.mutation.trials import Result, Verdict

PROGRESS_EVERY = 50


class Progress:
    """Prints each survivor, and the progress."""

    def __init__(self, total: int, out: TextIO) -> None:
        self._total = total
        self._out = out
        self._done = 0
        self._survived = 0

    def count(self, result: Result) -> Result:
        """Counts one more result and returns it."""
        self._done += 1
        if result.survived:
            self._survived += 1
            mutant = result.mutant
            place = f"{mutant.path}:{mutant.line} {mutant.operator}, {result.verdict.value}"
            print(f"{place}\n{mutant.diff}\n", file=self._out, flush=True)
        if self._done % PROGRESS_EVERY == 0 or self._done == self._total:
            print(f"{self._done} of {self._total}, {self._survived} survived", file=self._out, flush=True)
        return result


def show(results: Sequence[Result], seconds: float, out: TextIO) -> None:
    """Prints the table by folder and package."""
    print(
        f"\n{'':40}{'mutants':>8}{'killed':>8}{'timeout':>8}{'survived':>9}{'untested':>9}{'score':>8}",
        file=out,
    )
    for room in sorted({result.mutant.room for result in results}):
        print(_row(f"  {room}", [r for r in results if r.mutant.room == room]), file=out)
    for package in PACKAGES:
        if of := [r for r in results if r.mutant.package == package]:
            print(_row(package, of), file=out)
    print(f"{len(results)} mutants in {seconds:.0f} s", file=out)


def _row(name: str, results: Iterable[Result]) -> str:
    count = Counter(result.verdict for result in results)
    killed, timeout, survived, untested = (count[verdict] for verdict in Verdict)
    score = (killed + timeout) / count.total()
    return f"{name:40}{count.total():8}{killed:8}{timeout:8}{survived:9}{untested:9}{score:8.1%}"
