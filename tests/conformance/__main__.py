"""`make conformance`: compares the core's decisions with Kueue's.

Without SEEDS it replays the cases of Kueue's own tests and prints by suite which passed, failed or do not
apply; exit code 1 if a case fails that docs/conformance.md does not list, if a listed case passes, or if
there are no cases. They are recorded first, once for each version of Kueue; CASES is a folder of other ones.
With SEEDS it runs this many random clusters and histories through the real Kueue and the core, on one API
server, and prints where they differ.
"""

import argparse
import sys
from pathlib import Path

from tests.conformance.case import load
from tests.conformance.recorder.record import recorded_cases
from tests.conformance.replay import LISTED, listed, replay, replays, show, unexpected
from tools.testing.effort import THOROUGH
from tools.toolchain.steps import StepError


def main(arguments: list[str]) -> int:
    chosen = _parser().parse_args(arguments)
    if chosen.seeds:
        from tests.conformance.differential import run  # imports the tools of a cluster

        return run.main(range(chosen.seed_base, chosen.seed_base + chosen.seeds))
    try:
        folder = chosen.cases or recorded_cases()
    except StepError as error:
        print(f"conformance: there are no cases of Kueue to replay\n{error.explain()}")
        return 1 if THOROUGH or not chosen.record else 0
    if chosen.record:
        return 0
    if not folder.is_dir():
        print(f"no cases at {folder}; expected a folder with a folder for each suite")
        return 1
    by_suite = replays()
    cases = (c for c in load(folder) if chosen.suite in c.suite and chosen.case in c.name)
    results = [replay(case, by_suite) for case in cases]
    show(results, chosen.verbose)
    wrong = unexpected(results, listed(LISTED))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__)
    parser.add_argument("--cases", type=Path, help="folder of other cases, one folder a suite")
    parser.add_argument(
        "--record", action="store_true", help="only record the cases; outside CI, no error if that fails"
    )
    parser.add_argument("--suite", default="", help="only suites whose name contains this")
    parser.add_argument("--case", default="", help="only cases whose name contains this")
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="run N random histories instead")
    parser.add_argument("--seed-base", type=int, default=0, metavar="K", help="the first seed (0)")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show whole differences, and cases that do not apply"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
