"""Every feature gate of Kueue's cases can be set in a stack, or docs/conformance.md explains why not."""

from itertools import chain

import pytest

from muster.admission import Rules
from muster.configuration.feature_gates import SUPPORTED, with_gates
from tests.conformance.case import Case, load
from tests.conformance.recorder.record import cached_cases
from tests.conformance.replay import LISTED
from tests.conformance.rules import IGNORED, ONLY_HERE, rules_of


def listed_gates() -> set[str]:
    """Returns the gates in the page's table."""
    rows = LISTED.read_text().partition("### Feature gates")[2].partition("\n## ")[0].splitlines()
    return {row.split("`")[1] for row in rows if row.startswith("| `")}


def test_the_page_lists_gates_that_cannot_be_set() -> None:
    assert listed_gates() == {*ONLY_HERE, *IGNORED}
    assert listed_gates().isdisjoint(SUPPORTED)


def test_no_case_has_another_gate() -> None:
    if (folder := cached_cases()) is None:
        pytest.skip("no cases are recorded; make conformance records them")
    gates = set(chain.from_iterable(case.gates for case in load(folder)))
    assert gates <= {*SUPPORTED, *listed_gates()}


@pytest.mark.parametrize("gate", SUPPORTED)
def test_cases_and_stacks_map_gates_to_the_same_rules(gate: str) -> None:
    off = Case("suite", "name", {}, {}, {"fairSharing": True}, {gate: False}, now_ms=0)
    fair = rules_of(Case("suite", "name", {}, {}, {"fairSharing": True}, {}, now_ms=0)).fair_sharing
    assert rules_of(off) == with_gates(Rules(fair_sharing=fair), {gate: False})


@pytest.mark.parametrize("gate", ONLY_HERE)
def test_other_gates_switch_rules_too(gate: str) -> None:
    on = Case("suite", "name", {}, {}, {}, {gate: True}, now_ms=0)
    assert getattr(rules_of(on), ONLY_HERE[gate]) is True
    assert getattr(Rules(), ONLY_HERE[gate]) is False
