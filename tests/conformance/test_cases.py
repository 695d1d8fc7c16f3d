"""All recorded cases of Kueue's own tests, and the kept steps that were once decided differently."""

from pathlib import Path

import pytest

from tests.conformance.case import Case, load
from tests.conformance.differential.found import KEPT, read
from tests.conformance.recorder.record import all_suites, cached_cases, recorded_cases
from tests.conformance.replay import FAILED, LISTED, NOT_APPLICABLE, listed, replay, replays
from tools.testing.effort import THOROUGH
from tools.toolchain.steps import StepError

RECORDED = cached_cases()
CASES = {f"{case.suite}: {case.name}": case for case in (load(RECORDED) if RECORDED else ())}
KNOWN = listed(LISTED)


def test_cases_are_available() -> None:
    try:
        recorded_cases()
    except StepError as error:
        if THOROUGH:
            raise
        pytest.skip(f"no cases of Kueue are replayed: {error}")
    assert CASES, "they were recorded just now, and are replayed in the next run"
    assert {case.suite for case in CASES.values()} == all_suites()
    assert replays().keys() <= all_suites()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_case_is_decided_as_kueue_decides(case: Case) -> None:
    result = replay(case, replays())
    if result.outcome == NOT_APPLICABLE:
        pytest.skip(result.why)
    if result.refused and result.outcome == FAILED:
        pytest.skip(f"Kueue's webhooks refuse an object of it: {result.refused}")
    expected_to_fail = f"{case.suite}: {case.name}" in KNOWN
    assert (result.outcome == FAILED) == expected_to_fail, result.why or f"{LISTED.name} lists it as failing"


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.json")), ids=lambda path: path.stem)
def test_a_kept_step_is_decided_as_kueue_decided(path: Path) -> None:
    parsed = read(path)
    differences = parsed.differences()
    assert bool(differences) == bool(parsed.on_purpose), differences or "it no longer differs"
