"""`make mutants`: do the tests notice changes of the admission core and the controller?

Changes the code of muster/admission and muster/controller in one place at a time, runs the tests that execute
that place until one fails, and reports by package how many of these mutants were killed. Exit code 1 when a
package is below 90 %, 2 when the tests fail without any mutation. docs/mutation-testing.md tells more.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Iterable, Sequence

from tests.conformance.recorder.record import cached_cases
from tests.mutation.equivalents import listed, outdated, without
from tests.mutation.mutants import CHECKOUT, PACKAGES, Mutant, mutants, source_files
from tests.mutation.recording import recording
from tests.mutation.report import Progress, show
from tests.mutation.trials import Result, run_trials

KILLED_MIN = 0.9


def main(arguments: Sequence[str]) -> int:
    chosen = _parser().parse_args(arguments)
    os.chdir(CHECKOUT)
    if not (paths := source_files(chosen.module)):
        print(f"--module {chosen.module}: no file of {' or '.join(PACKAGES)} begins with it", file=sys.stderr)
        return 2
    equivalents = listed()
    if wrong := outdated(equivalents):
        print("\n".join(wrong), file=sys.stderr)
        return 2
    if cached_cases() is None:
        print("without Kueue's own cases, which make conformance records")
    tried = without(sample(mutants(paths), chosen.sample, chosen.seed), equivalents)
    began = time.monotonic()
    results: list[Result] = []
    try:
        recorded = recording()
        progress = Progress(len(tried), sys.stdout)
        run_trials(tried, recorded, chosen.workers, lambda result: results.append(progress.count(result)))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    show(results, time.monotonic() - began, sys.stdout)
    low = [package for package in PACKAGES if score(results, package) < KILLED_MIN]
    if low:
        print(f"below {KILLED_MIN:.0%}: {', '.join(low)}")
    return 1 if low else 0


def sample(of: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """Returns `size` mutants of each package, the same for the same seed and sources; all for size 0."""
    by_package = [[mutant for mutant in of if mutant.package == package] for package in PACKAGES]
    if size:
        choose = random.Random(seed)
        by_package = [choose.sample(some, min(size, len(some))) for some in by_package]
    return [mutant for some in by_package for mutant in some]


def score(results: Iterable[Result], package: str) -> float:
    """Returns the share of a package's mutants that were killed; 1 if none was tried."""
    tried = [result for result in results if result.mutant.package == package]
    return sum(not result.survived for result in tried) / len(tried) if tried else 1.0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N random mutants a package (all)")
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="of the random choice (0)")
    parser.add_argument("--module", default="", help="only files that begin so: muster/admission/quota")
    cores = os.cpu_count() or 1
    parser.add_argument("--workers", type=int, default=cores, metavar="N", help="at a time (one a core)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
