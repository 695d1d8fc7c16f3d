"""Heads that are refused before any flavor is looked at."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from muster.admission import CheckState, ClusterQueue, LabelSelector, Requirement, Workload
from muster.admission.cycle.entry import EntryOutcome
from muster.admission.cycle.nominate import refusal, selects
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import queue, snapshot, workload

ML = {"team": "ml", "stage": ""}

SELECTED: dict[str, tuple[Requirement, bool, bool]] = {
    # requirement; whether the labels of ML meet it, and whether no labels do
    "one of": (Requirement("team", "In", ("cv", "ml")), True, False),
    "none of": (Requirement("team", "NotIn", ("cv", "ml")), False, True),
    "another one": (Requirement("team", "NotIn", ("cv",)), True, True),
    "there, be it empty": (Requirement("stage", "Exists"), True, False),
    "not there": (Requirement("stage", "DoesNotExist"), False, True),
}


@pytest.mark.parametrize(("requirement", "ml", "nothing"), SELECTED.values(), ids=SELECTED.keys())
def test_selector_matches_namespace_labels(requirement: Requirement, ml: bool, nothing: bool) -> None:
    selector = LabelSelector((requirement,))
    assert (selects(selector, ML), selects(selector, {})) == (ml, nothing)


def test_all_requirements_are_to_be_met() -> None:
    met = Requirement("team", "Exists")
    assert selects(LabelSelector((met, met)), ML)
    assert not selects(LabelSelector((met, Requirement("team", "DoesNotExist"))), ML)


EVERYBODY, ONLY_ML = LabelSelector(), LabelSelector((Requirement("team", "In", ("ml",)),))

NAMESPACES = {
    "every one": (EVERYBODY, {}, None),
    "none": (None, {"ns": ML}, EntryOutcome.WRONG_NAMESPACE),
    "this one": (ONLY_ML, {"ns": ML}, None),
    "another one": (ONLY_ML, {"ns": {"team": "cv"}}, EntryOutcome.WRONG_NAMESPACE),
    "a namespace without labels": (ONLY_ML, {}, EntryOutcome.WRONG_NAMESPACE),
}


def outcome(
    of: Workload, in_queue: ClusterQueue, namespaces: Mapping[str, Mapping[str, str]] | None = None
) -> EntryOutcome | None:
    snapshot_of_queue = replace(snapshot(in_queue), namespaces=namespaces or {})
    return refusal(WorkingState(snapshot_of_queue), of, in_queue)


@pytest.mark.parametrize(("selector", "labels", "expected"), NAMESPACES.values(), ids=NAMESPACES.keys())
def test_head_of_another_namespace_is_refused(
    selector: LabelSelector | None, labels: dict[str, dict[str, str]], expected: EntryOutcome | None
) -> None:
    assert outcome(workload("w", "q", 1), queue("q", namespaces=selector), labels) is expected


@pytest.mark.parametrize("state", CheckState)
def test_head_with_a_failed_check_is_refused(state: CheckState) -> None:
    checked = workload("w", "q", 1, checks={"first": CheckState.READY, "second": state})
    failed = state in (CheckState.RETRY, CheckState.REJECTED)
    assert outcome(checked, queue("q")) is (EntryOutcome.CHECK_FAILED if failed else None)


def test_the_namespace_counts_before_what_the_pods_ask_for() -> None:
    """Only one of the outcomes blocks a StrictFIFO queue."""
    greedy = workload("w", "q", 1, refused="asks for more than a LimitRange allows")
    assert outcome(greedy, queue("q")) is EntryOutcome.REFUSED
    assert outcome(greedy, queue("q", namespaces=None)) is EntryOutcome.WRONG_NAMESPACE
    failed = replace(greedy, checks={"a": CheckState.REJECTED})
    assert outcome(failed, queue("q", namespaces=None)) is EntryOutcome.CHECK_FAILED
