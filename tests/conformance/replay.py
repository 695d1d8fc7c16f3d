"""Replays cases, reports which passed, failed or do not apply, and compares this with docs/conformance.md."""

import importlib
import pkgutil
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conformance import suites
from tests.conformance.case import Case, NotApplicable, Replay
from tests.conformance.engine import decided
from tests.conformance.webhooks import refused

CHECKOUT = Path(__file__).parents[2]
LISTED = CHECKOUT / "docs" / "conformance.md"
PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not applicable"


@dataclass(frozen=True)
class Result:
    case: Case
    outcome: str
    why: str = ""
    refused: str = ""  # the rule of Kueue's webhooks that an object of the case violates


def replays() -> Mapping[str, Replay]:
    """Returns all modules of tests/conformance/suites, by suite."""
    by_suite: dict[str, Replay] = {}
    for module in pkgutil.iter_modules(suites.__path__):
        by_suite |= importlib.import_module(f"{suites.__name__}.{module.name}").SUITES
    return by_suite


def replay(case: Case, by_suite: Mapping[str, Replay]) -> Result:
    if case.suite not in by_suite:
        return Result(case, NOT_APPLICABLE, "this suite is not replayed")
    broken = refused(case)
    try:
        by_suite[case.suite](case)
        if not broken:
            decided(case)
    except NotApplicable as reason:
        return Result(case, NOT_APPLICABLE, str(reason))
    except AssertionError as difference:
        return Result(case, FAILED, str(difference) or traceback.format_exc(), broken)
    except Exception:
        return Result(case, FAILED, traceback.format_exc(), broken)
    return Result(case, PASSED, refused=broken)


def show(results: Iterable[Result], details: bool) -> None:
    """Prints the results by suite, then those of cases with objects that Kueue's webhooks refuse."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    results = list(results)
    for result in [result for result in results if not result.refused]:
        counts[result.case.suite][result.outcome] += 1
        if result.outcome == FAILED or (details and result.outcome == NOT_APPLICABLE):
            print(
                f"{result.outcome}: {result.case.suite}: {result.case.name}\n  {_indented(result, details)}"
            )
    columns = (PASSED, FAILED, NOT_APPLICABLE)
    width = max(map(len, counts), default=5)
    print(f"{'suite':{width}}  " + "  ".join(f"{c:>{len(c)}}" for c in columns))
    for suite, of in sorted(counts.items()):
        print(f"{suite:{width}}  " + "  ".join(f"{of[c]:>{len(c)}}" for c in columns))
    total = sum(counts.values(), Counter[str]())
    print(f"{total[PASSED]} passed, {total[FAILED]} failed, {total[NOT_APPLICABLE]} not applicable")
    invalid = [result for result in results if result.refused]
    if invalid:
        print(f"{len(invalid)} not counted, as Kueue's webhooks refuse one of their objects:")
    for result in invalid:
        print(f"  {result.outcome}: {result.case.suite}: {result.case.name}: {result.refused}")


def _indented(result: Result, details: bool) -> str:
    lines = result.why.strip().splitlines()
    return "\n  ".join(lines if details else lines[-1:])


def listed(page: Path) -> set[str]:
    """Returns the page's failing cases: table rows that begin with `suite: name` in backticks."""
    rows = page.read_text().splitlines() if page.exists() else []
    return {row.split("`")[1] for row in rows if row.startswith("| `Test")}


def unexpected(results: Iterable[Result], documented: set[str]) -> list[str]:
    """Returns contradictions to the page: unlisted failures, and listed cases that pass. Cases with refused
    objects are left out."""
    outcomes = {f"{r.case.suite}: {r.case.name}": r.outcome for r in results if not r.refused}
    failed = {name for name, outcome in outcomes.items() if outcome == FAILED}
    passed = {name for name, outcome in outcomes.items() if outcome == PASSED}
    return [f"{name}: fails, and {LISTED.name} does not list it" for name in sorted(failed - documented)] + [
        f"{name}: passes, and {LISTED.name} lists it as failing" for name in sorted(documented & passed)
    ]
