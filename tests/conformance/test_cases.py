"""All available cases of Kueue's own tests, and the kept steps that were once decided differently."""

from pathlib import Path

import pytest

from tests.conformance.case import Case, load
from tests.conformance.differential.found import KEPT, read
from tests.conformance.replay import FAILED, LISTED, NOT_APPLICABLE, SHARED, listed, replay, replays

CASES = {f"{case.suite}: {case.name}": case for case in (load(SHARED) if SHARED.is_dir() else ())}
KNOWN = listed(LISTED)


@pytest.mark.skipif(bool(CASES), reason="there are cases")
def test_cases_are_available() -> None:
    pytest.skip(f"no cases at {SHARED.parent.name}/{SHARED.name} beside the checkout: nothing is replayed")


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
    found = read(path)
    differences = found.differences()
    assert bool(differences) == bool(found.on_purpose), differences or "it no longer differs"
