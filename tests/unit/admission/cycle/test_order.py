"""The order in which a cycle processes its heads."""

from itertools import pairwise
from typing import Any

import pytest

from muster.admission import FairSharing, Rules, Workload
from muster.admission.cycle.cycle import in_order
from muster.admission.cycle.entry import Entry, cycle_order
from muster.admission.flavors.assignment import Assignment
from muster.admission.queueing.groups import queue_order
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import queue, running, snapshot, workload
from tests.unit.admission.cycle.scenes import RULES, heads

PREEMPTORS = Rules(prioritize_preemptors=True)
AGE_ONLY = Rules(priority_sorting_within_cohort=False)

Head = tuple[Workload, bool, int]  # whether it is preempting, and from how far away it borrows


def head(name: str, preempting: bool = False, borrowing: int = 0, **fields: Any) -> Head:
    return workload(name, **fields), preempting, borrowing


CASES: dict[str, tuple[Rules, list[Head]]] = {
    # each before the next
    "a holder of quota, however far it borrows": (
        RULES,
        [(running("r"), False, 2), head("w", priority=9)],
    ),
    "the shorter borrowing distance": (
        RULES,
        [head("a", borrowing=0, priority=-1), head("b", borrowing=1, priority=1), head("c", borrowing=2)],
    ),
    "the more urgent": (RULES, [head("a", priority=2, queued_at_ms=5), head("b", priority=1)]),
    "the longer wait": (RULES, [head("b", queued_at_ms=1), head("a", queued_at_ms=2)]),
    "by the UID at last": (RULES, [head("b", uid="1"), head("a", uid="2")]),
    "and by the key": (RULES, [head("a", uid="1"), head("b", uid="1")]),
    "a preemptor like any other": (RULES, [head("a", borrowing=0), head("b", preempting=True, borrowing=1)]),
    "a preemptor first, by the rules": (
        PREEMPTORS,
        [head("b", preempting=True, borrowing=1), head("a", borrowing=0, priority=9)],
    ),
    "regardless of the priority, by the rules": (
        AGE_ONLY,
        [head("a", priority=-5, queued_at_ms=1), head("b", priority=5, queued_at_ms=2)],
    ),
}


@pytest.mark.parametrize(("rules", "expected"), CASES.values(), ids=CASES.keys())
def test_heads_are_processed_in_cycle_order(rules: Rules, expected: list[Head]) -> None:
    places = [
        cycle_order(
            rules, queue_order(workload_key), workload_key.admission is not None, preempting, borrowing
        )
        for workload_key, preempting, borrowing in expected
    ]
    assert all(earlier < later for earlier, later in pairwise(places))


@pytest.mark.parametrize(
    ("rules", "expected"),
    [(RULES, ["urgent", "poor"]), (Rules(fair_sharing=FairSharing()), ["poor", "urgent"])],
    ids=["by priority", "by share"],
)
def test_heads_come_in_the_order_of_the_rules(rules: Rules, expected: list[str]) -> None:
    """Urgent would borrow either way; where sharing is fair that of its queue counts first."""
    of = snapshot(
        [queue("a", 1, cohort="ml"), queue("b", 1, cohort="ml"), queue("c", 9, cohort="ml")],
        running("r", "a", gpu=3),
    )
    state = WorkingState(of, rules)
    entries: list[Entry] = heads(state, [workload("poor", "b", 1), workload("urgent", "a", 1, priority=9)])
    for entry in entries:
        entry.assignment = Assignment()
        entry.assignment.usage = dict.fromkeys(entry.node.quotas, 1)
    assert [entry.workload.uid for entry in in_order(entries, rules)] == expected
