"""One cycle: what becomes of its heads when each is processed after the other."""

from dataclasses import replace
from typing import Any

import pytest

from muster.admission import (
    BorrowWithinCohort,
    CheckState,
    Cohort,
    FairSharing,
    LabelSelector,
    PreemptionPolicy,
    PreemptionReason,
    Quota,
    Requirement,
    Rules,
    Snapshot,
)
from muster.admission.cycle.cycle import Cycle
from muster.admission.cycle.entry import REQUEUE, EntryOutcome
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import NOW_MS, pods, queue, running, snapshot, workload
from tests.unit.admission.cycle.scenes import RULES, cycle, heads, outcomes, targets

LOWER, ANY = PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY
ML: dict[str, Any] = {"cohort": "ml"}
RECLAIMING: dict[str, Any] = {"cohort": "ml", "reclaim_within_cohort": ANY}
BORROWING: dict[str, Any] = {
    "cohort": "ml",
    "reclaim_within_cohort": LOWER,
    "borrow_within_cohort": BorrowWithinCohort(),
}
RECOMPUTE = Rules(recompute_overlapping=True)
GATES = Rules(preemption_gates=True)
PREEMPTORS_FIRST = Rules(prioritize_preemptors=True)

ONE_VICTIM = snapshot(
    [queue("a", 0, **ML), queue("b", 2, **RECLAIMING), queue("c", 2, **RECLAIMING)],
    running("r", "a", gpu=4),
    workload("first", "b", 2, queued_at_ms=1),
    workload("second", "c", 2, queued_at_ms=2),
)
TWO_VICTIMS = snapshot(
    [queue("a", 0, **ML), queue("b", 2, **RECLAIMING), queue("c", 2, **RECLAIMING)],
    running("r1", "a", gpu=2),
    running("r2", "a", gpu=2, reserved_at_ms=1),
    workload("first", "b", 2, queued_at_ms=1),
    workload("second", "c", 2, queued_at_ms=2),
)
WITHOUT_VICTIMS = (running("r", "a", gpu=2), workload("big", "a", 4), workload("small", "b", 1, priority=-1))

CASES: dict[str, tuple[Snapshot, Rules, dict[str, EntryOutcome]]] = {
    "admitted": (snapshot(queue("q", 1), workload("w", "q", 1)), RULES, {"w": EntryOutcome.ADMITTED}),
    "larger than can be": (snapshot(queue("q", 1), workload("w", "q", 2)), RULES, {"w": EntryOutcome.NO_FIT}),
    "its victim is being evicted": (
        snapshot(queue("q", 1, within_queue=LOWER), running("r"), workload("w", "q", 1, priority=1)),
        RULES,
        {"w": EntryOutcome.PREEMPTING},
    ),
    "no workload may be preempted": (
        snapshot(queue("q", 1, within_queue=LOWER), running("r", priority=1), workload("w", "q", 1)),
        RULES,
        {"w": EntryOutcome.NO_CANDIDATES},
    ),
    "the only victim leaves for another one": (
        ONE_VICTIM,
        RULES,
        {"first": EntryOutcome.PREEMPTING, "second": EntryOutcome.OVERLAPPING},
    ),
    "and there is room in addition": (
        ONE_VICTIM,
        RECOMPUTE,
        {"first": EntryOutcome.PREEMPTING, "second": EntryOutcome.DEFERRED},
    ),
    "both choose the same of two": (
        TWO_VICTIMS,
        RULES,
        {"first": EntryOutcome.PREEMPTING, "second": EntryOutcome.OVERLAPPING},
    ),
    "the second takes the other": (
        TWO_VICTIMS,
        RECOMPUTE,
        {"first": EntryOutcome.PREEMPTING, "second": EntryOutcome.PREEMPTING},
    ),
    "what it chose has just been borrowed": (
        snapshot(
            [queue("a", 1, **ML), queue("b", 1, **ML), queue("c", 1, **ML)],
            workload("first", "a", 2, queued_at_ms=1),
            workload("second", "b", 2, queued_at_ms=2),
        ),
        RULES,
        {"first": EntryOutcome.ADMITTED, "second": EntryOutcome.CROWDED_OUT},
    ),
    "its victims would not be enough any more": (
        snapshot(
            [queue("a", Quota(2, borrowing_limit=2), within_queue=LOWER, **ML), queue("b", 4, **ML)],
            running("r", "a", gpu=2),
            workload("big", "a", 4, priority=1),
            workload("owner", "b", 4),
            cohorts=[Cohort("ml", "org")],
        ),
        RULES,
        {"owner": EntryOutcome.ADMITTED, "big": EntryOutcome.CROWDED_OUT},
    ),
    "quota of victims is taken only after their deletion": (
        snapshot(
            [queue("a", 4, within_queue=LOWER, **ML), queue("b", 1, **ML), queue("c", 1, **ML)],
            running("r", "a", gpu=4),
            workload("big", "a", 3, priority=1),
            workload("one", "b", 1, queued_at_ms=1),
            workload("two", "c", 2, queued_at_ms=2),
        ),
        RULES,
        {"big": EntryOutcome.PREEMPTING, "one": EntryOutcome.ADMITTED, "two": EntryOutcome.CROWDED_OUT},
    ),
    "a gate keeps it from preempting": (
        snapshot(
            queue("q", 1, within_queue=LOWER),
            running("r"),
            workload("w", "q", 1, priority=1, preemption_gated=True),
        ),
        GATES,
        {"w": EntryOutcome.GATED},
    ),
    "gates count by the rules only": (
        snapshot(
            queue("q", 1, within_queue=LOWER),
            running("r"),
            workload("w", "q", 1, priority=1, preemption_gated=True),
        ),
        RULES,
        {"w": EntryOutcome.PREEMPTING},
    ),
    "a gate does not hold a head that needs no victims": (
        snapshot(queue("q", 1), workload("w", "q", 1, preemption_gated=True)),
        GATES,
        {"w": EntryOutcome.ADMITTED},
    ),
    "a head that could not reclaim it keeps its quota": (
        snapshot([queue("a", 4, within_queue=LOWER, **ML), queue("b", 0, **ML)], *WITHOUT_VICTIMS),
        RULES,
        {"big": EntryOutcome.NO_CANDIDATES, "small": EntryOutcome.CROWDED_OUT},
    ),
    "by the rules a workload that preempted still keeps its quota": (
        snapshot(
            [queue("a", 4, **RECLAIMING), queue("b", 0, **ML)],
            running("r", "a", gpu=2),
            workload("big", "a", 4, preempting=True),
            workload("small", "b", 1, priority=-1),
        ),
        PREEMPTORS_FIRST,
        {"big": EntryOutcome.NO_CANDIDATES, "small": EntryOutcome.CROWDED_OUT},
    ),
    "a head keeps no more than it may borrow": (
        snapshot(
            [queue("a", Quota(1, borrowing_limit=2), **ML), queue("b", 3, **ML)],
            running("r", "a", gpu=1),
            workload("big", "a", 3, priority=1),
            workload("small", "b", 2),
        ),
        RULES,
        {"big": EntryOutcome.NO_FIT, "small": EntryOutcome.ADMITTED},
    ),
    "a head without victims keeps its own and what it may borrow": (
        snapshot(
            [queue("a", Quota(2, borrowing_limit=1), **BORROWING), queue("b", 3, **ML), queue("c", 0, **ML)],
            running("r", "a", gpu=1),
            workload("big", "a", 3),
            workload("small", "c", 3, priority=-1),
        ),
        RULES,
        {"big": EntryOutcome.NO_CANDIDATES, "small": EntryOutcome.CROWDED_OUT},
    ),
    "and nothing of what it may not": (
        snapshot(
            [queue("a", Quota(2, borrowing_limit=0), **ML), queue("b", 4, **ML)],
            running("r", "a", gpu=3),
            workload("big", "a", 2),
            workload("small", "b", 3, priority=-1),
        ),
        RULES,
        {"big": EntryOutcome.NO_CANDIDATES, "small": EntryOutcome.ADMITTED},
    ),
    "a head that does not borrow keeps its remaining quota": (
        snapshot(
            [queue("a", 4, within_queue=LOWER), queue("b", 1)],
            running("r", "a", gpu=2),
            workload("big", "a", 4),
        ),
        RULES,
        {"big": EntryOutcome.NO_CANDIDATES},
    ),
    "a workload that could reserves nothing": (
        snapshot([queue("a", 4, **RECLAIMING), queue("b", 0, **ML)], *WITHOUT_VICTIMS),
        RULES,
        {"big": EntryOutcome.NO_CANDIDATES, "small": EntryOutcome.ADMITTED},
    ),
    "a check failed": (
        snapshot(queue("q", 1), workload("w", "q", 1, checks={"a": CheckState.READY, "b": CheckState.RETRY})),
        RULES,
        {"w": EntryOutcome.CHECK_FAILED},
    ),
    "checks are not ready yet": (
        snapshot(
            queue("q", 1), workload("w", "q", 1, checks={"a": CheckState.READY, "b": CheckState.PENDING})
        ),
        RULES,
        {"w": EntryOutcome.ADMITTED},
    ),
    "it breaks a limit": (
        snapshot(queue("q", 1), workload("w", "q", 1, refused="asks for more cpu than allowed")),
        RULES,
        {"w": EntryOutcome.REFUSED},
    ),
    "from a namespace that the queue does not take": (
        snapshot(
            queue("q", 1, namespaces=LabelSelector((Requirement("team", "Exists"),))), workload("w", "q", 1)
        ),
        RULES,
        {"w": EntryOutcome.WRONG_NAMESPACE},
    ),
}


@pytest.mark.parametrize(("of", "rules", "expected"), CASES.values(), ids=CASES.keys())
def test_cycle_sets_the_outcome_of_each_head(
    of: Snapshot, rules: Rules, expected: dict[str, EntryOutcome]
) -> None:
    assert outcomes(cycle(of, rules)) == expected


def test_outcome_names_the_rival() -> None:
    overlapping = cycle(ONE_VICTIM)["second"]
    assert (overlapping.rival, targets(overlapping)) == ("ns/first", ["r"])
    assert cycle(ONE_VICTIM, RECOMPUTE)["second"].rival == "ns/first"
    quota, rules, _ = CASES["a head that could not reclaim it keeps its quota"]
    assert cycle(quota, rules)["small"].rival == "ns/big"
    borrowed, rules, _ = CASES["what it chose has just been borrowed"]
    assert cycle(borrowed, rules)["second"].rival == "", "it is let in already, so nothing is kept for it"


def test_targets_come_with_what_entitles_to_them() -> None:
    (target,) = cycle(ONE_VICTIM)["first"].targets
    assert (target.holding.workload.uid, target.reason) == ("r", PreemptionReason.IN_COHORT_RECLAMATION)
    second = cycle(TWO_VICTIMS, RECOMPUTE)
    assert (targets(second["first"]), targets(second["second"])) == (["r2"], ["r1"])


def test_every_outcome_but_an_admission_goes_back_to_the_queue() -> None:
    """A workload that holds its quota already is in no queue."""
    assert set(EntryOutcome) - REQUEUE.keys() == {
        EntryOutcome.UNTRIED,
        EntryOutcome.ADMITTED,
        EntryOutcome.NOT_REPLACED,
    }


@pytest.mark.parametrize("name", CASES)
def test_reservations_end_with_their_cycle(name: str) -> None:
    """Only admissions are left; victims hold their quota until they are deleted."""
    of, rules, _ = CASES[name]
    state = WorkingState(of, rules)
    entries = heads(state, [workload for workload in of.workloads if workload.admission is None])
    Cycle(state, 1, NOW_MS).run(entries)
    admitted = tuple(
        replace(entry.workload, admission=entry.admission) for entry in entries if entry.admission is not None
    )
    expected = WorkingState(replace(of, workloads=(*of.workloads, *admitted)), rules)
    assert _used(state) == _used(expected)


def _used(state: WorkingState) -> list[tuple[str, dict[Any, int]]]:
    nodes: dict[QuotaNode, None] = {
        node: None for queue in state.tree.queues.values() for node in queue.lineage
    }
    return [(node.name, {fr: used for fr, used in node.usage.items() if used}) for node in nodes]


GROWING = snapshot(
    queue("q", 4, within_queue=LOWER),
    running("old", gpu=2),
    running("low", gpu=1, priority=-1),
    workload("new", "q", pods(gpu=3), replaces="ns/old"),
)


def test_a_slice_takes_the_place_of_the_one_it_grows_from() -> None:
    state = WorkingState(GROWING)
    (head,) = heads(state, GROWING.workloads[2:])
    Cycle(state, 1, NOW_MS).run([head])
    assert (head.outcome, head.targets) == (EntryOutcome.ADMITTED, ())
    assert head.replaced is not None
    assert head.replaced.workload.uid == "old"
    assert sorted(state.holdings["q"]) == ["ns/low", "ns/new"]
    assert set(state.tree.queues["q"].usage.values()) == {4}


def test_a_slice_that_has_to_preempt_for_what_it_adds() -> None:
    of = replace(GROWING, workloads=(*GROWING.workloads[:2], workload("new", "q", 4, replaces="ns/old")))
    head = cycle(of)["new"]
    assert (head.outcome, targets(head)) == (EntryOutcome.PREEMPTING, ["low"])


@pytest.mark.parametrize("key", ["ns/gone", "other/old"])
def test_a_slice_of_nothing_in_its_queue_and_namespace_is_a_workload_like_others(key: str) -> None:
    old = replace(running("old", gpu=2), key="other/old")
    of = snapshot(queue("q", 4), old, workload("new", "q", 3, replaces=key))
    head = cycle(of)["new"]
    assert (head.outcome, head.replaced) == (EntryOutcome.NO_CANDIDATES, None)


CONTESTED = snapshot(
    [queue("a", 2, **ML), queue("b", 2, **RECLAIMING)],
    running("old", "a", gpu=3),
    workload("new", "a", pods(gpu=3), replaces="ns/old", preempting=True),
    workload("owner", "b", 2),
)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (PREEMPTORS_FIRST, {"new": EntryOutcome.ADMITTED, "owner": EntryOutcome.OVERLAPPING}),
        (RULES, {"new": EntryOutcome.OVERLAPPING, "owner": EntryOutcome.PREEMPTING}),
    ],
    ids=["it was replaced before", "it was preempted before"],
)
def test_a_slice_is_replaced_or_preempted(rules: Rules, expected: dict[str, EntryOutcome]) -> None:
    assert outcomes(cycle(CONTESTED, rules)) == expected


def test_where_sharing_is_fair_the_smaller_share_goes_first() -> None:
    of = snapshot(
        [queue("a", 2, **ML), queue("b", 2, **ML), queue("c", 2, **ML)],
        running("r", "a", gpu=3),
        workload("rich", "a", 1, priority=9),
        workload("poor", "b", 3),
    )
    fair = cycle(of, Rules(fair_sharing=FairSharing()))
    assert outcomes(fair) == {"rich": EntryOutcome.CROWDED_OUT, "poor": EntryOutcome.ADMITTED}


def test_a_second_pass_keeps_the_quota_and_the_time() -> None:
    of = snapshot(queue("q", 1), running("r", reserved_at_ms=5))
    state = WorkingState(of)
    (head,) = heads(state, of.workloads)
    Cycle(state, 1, NOW_MS).run([head])
    held = state.holdings["q"]["ns/r"]
    assert (head.outcome, held.reserved_at_ms) == (EntryOutcome.ADMITTED, 5)
    assert set(state.tree.queues["q"].usage.values()) == {1}
