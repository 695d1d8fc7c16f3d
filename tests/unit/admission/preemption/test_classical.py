"""Victims of a workload of queue q. Names say what happens to a running workload."""

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction

import pytest

from muster.admission import (
    Admission,
    BorrowWithinCohort,
    ClusterQueue,
    Cohort,
    FlavorResource,
    PodSetAssignment,
    PreemptionPolicy,
    PreemptionReason,
    Quota,
    StopPolicy,
    Workload,
)
from muster.admission.preemption.preemptor import Preemptor
from muster.admission.quota.tree import Usage
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import GPU, Quotas, cohort, fr, queue, running, snapshot, workload

NEVER, LOWER = PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY
NEWER, ANY = PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY, PreemptionPolicy.ANY
OWN, RECLAIM = PreemptionReason.IN_CLUSTER_QUEUE, PreemptionReason.IN_COHORT_RECLAMATION
WHILE_BORROWING = PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING
L4 = fr("l4")


def mine(
    quota: int | Quota | Quotas,
    within: PreemptionPolicy = LOWER,
    reclaim: PreemptionPolicy = ANY,
    terms: BorrowWithinCohort | None = None,
) -> ClusterQueue:
    return queue(
        "q",
        quota,
        cohort="ml",
        within_queue=within,
        reclaim_within_cohort=reclaim,
        borrow_within_cohort=terms,
    )


def mate(name: str = "mate", quota: int | Quota | Quotas = 2, in_cohort: str = "ml") -> ClusterQueue:
    return queue(name, quota, cohort=in_cohort)


def preemptor(
    wants: int,
    queues: list[ClusterQueue],
    *running_now: Workload,
    cohorts: tuple[Cohort, ...] = (),
    **fields: int,
) -> Preemptor:
    incoming = workload("in", "q", wants, **{"priority": 5, **fields})
    state = WorkingState(snapshot(queues, *running_now, cohorts=cohorts))
    return Preemptor(state, incoming, state.queue("q"), state.tree.queues["q"])


def victims(
    of: Preemptor, needs: Usage, contested: Collection[FlavorResource]
) -> dict[str, PreemptionReason]:
    before = {name: dict(node.usage) for name, node in of.state.tree.queues.items()}
    targets = of.targets(needs, contested)
    assert {name: node.usage for name, node in of.state.tree.queues.items()} == before, "all is as it was"
    return {target.holding.workload.uid: target.reason for target in targets}


FAR = (cohort("ml", "org"), cohort("far", "org"))
RICH = (cohort("ml", "org", {"l4": {GPU: 4}}), cohort("far", "org"))

TERMS = BorrowWithinCohort()
UP_TO_3 = BorrowWithinCohort(3)

CASES: dict[str, tuple[Preemptor, int, dict[str, PreemptionReason]]] = {
    "lower priority": (
        preemptor(4, [mine(4)], running("a", gpu=4, priority=1)),
        4,
        {"a": OWN},
    ),
    "not the same priority": (preemptor(4, [mine(4)], running("a", gpu=4, priority=5)), 4, {}),
    "never": (preemptor(4, [mine(4, NEVER)], running("a", gpu=4)), 4, {}),
    "a newer one of the same priority": (
        preemptor(2, [mine(4, NEWER)], running("a", gpu=4, priority=5, queued_at_ms=9)),
        2,
        {"a": OWN},
    ),
    "no older one of the same priority": (
        preemptor(2, [mine(4, NEWER)], running("a", gpu=4, priority=5), queued_at_ms=9),
        2,
        {},
    ),
    "the lowest priority first": (
        preemptor(2, [mine(4)], running("a", gpu=2, priority=2), running("b", gpu=2, priority=1)),
        2,
        {"b": OWN},
    ),
    "the newest reservation first": (
        preemptor(2, [mine(4)], running("a", gpu=2, reserved_at_ms=1), running("b", gpu=2, reserved_at_ms=2)),
        2,
        {"b": OWN},
    ),
    "no more than needed": (
        preemptor(
            3,
            [mine(4)],
            running("a", gpu=1, priority=1),
            running("b", gpu=3, priority=2),
        ),
        3,
        {"b": OWN},
    ),
    "a workload that is leaving anyway": (
        preemptor(
            2,
            [mine(4)],
            running("a", gpu=2, priority=1),
            running("b", gpu=2, priority=4, evicted=True),
        ),
        2,
        {"b": OWN},
    ),
    "none on another flavor": (
        preemptor(
            4,
            [mine(4), mate(quota=0)],
            running("a", gpu=4, flavor="t4"),
            running("b", gpu=4, priority=9),
        ),
        4,
        {},
    ),
    "none if all of them are not enough": (
        preemptor(4, [mine(4)], running("a", gpu=3), running("b", gpu=1, priority=9)),
        4,
        {},
    ),
    "borrowers of the cohort, of any priority": (
        preemptor(2, [mine(2), mate()], running("a", "mate", gpu=2), running("b", "mate", gpu=2, priority=9)),
        2,
        {"a": RECLAIM},
    ),
    "borrowers of lower priority only": (
        preemptor(2, [mine(2, reclaim=LOWER), mate()], running("a", "mate", gpu=4, priority=5)),
        2,
        {},
    ),
    "no borrowers by policy": (
        preemptor(2, [mine(2, reclaim=NEVER), mate()], running("a", "mate", gpu=4)),
        2,
        {},
    ),
    "none of a queue that does not borrow": (
        preemptor(3, [mine(2), mate()], running("a", "mate", gpu=2), running("b", gpu=1, priority=9)),
        3,
        {},
    ),
    "only until a queue borrows no more": (
        preemptor(
            4,
            [mine(4), mate()],
            running("a", "mate", gpu=2, reserved_at_ms=3),
            running("b", "mate", gpu=2, reserved_at_ms=2),
            running("c", gpu=2),
        ),
        4,
        {"a": RECLAIM, "c": OWN},
    ),
    "other queues' before the own": (
        preemptor(2, [mine(4), mate()], running("a", "mate", gpu=4), running("b", gpu=2)),
        2,
        {"a": RECLAIM},
    ),
    "rather reclaims than borrows": (
        preemptor(
            2,
            [mine(4), mate()],
            running("a", "mate", gpu=3),
            running("b", gpu=1, priority=1),
            running("c", gpu=2, priority=2),
        ),
        2,
        {"a": RECLAIM, "b": OWN},
    ),
    "rather borrows what its cohort brings in than preempts its own": (
        preemptor(
            2,
            [mine(4), mate("borrower", 0, "far")],
            running("a", "borrower", gpu=5),
            running("b", gpu=3),
            cohorts=RICH,
        ),
        2,
        {"a": RECLAIM},
    ),
    "the own only, once its quota is used up": (
        # More is used than there is: a quota was lowered.
        preemptor(
            2,
            [mine(4), mate()],
            running("a", "mate", gpu=3),
            running("b", gpu=2, priority=1),
            running("c", gpu=2, priority=2),
        ),
        2,
        {"b": OWN, "c": OWN},
    ),
    "the own too, where reclaiming is not enough": (
        preemptor(4, [mine(4), mate()], running("a", "mate", gpu=4), running("b", gpu=2)),
        4,
        {"a": RECLAIM, "b": OWN},
    ),
    "the own only, to borrow": (
        preemptor(3, [mine(2), mate()], running("a", "mate", gpu=2), running("b", gpu=2)),
        2,
        {"b": OWN},
    ),
    "none of a stopped queue": (
        preemptor(
            2,
            [mine(2), queue("mate", 2, cohort="ml", stop=StopPolicy.HOLD)],
            running("a", "mate", gpu=4),
        ),
        2,
        {},
    ),
    "across a tree, over cohorts that borrow": (
        preemptor(
            2,
            [mine(2), mate("borrower", 0, "far"), mate("owner", 2, "far")],
            running("a", "borrower", gpu=4),
            cohorts=FAR,
        ),
        2,
        {"a": RECLAIM},
    ),
    "none in a cohort that does not borrow": (
        preemptor(
            2,
            [mine(2), mate("borrower", 0, "far"), mate("owner", 4, "far"), mate("near", 0)],
            running("a", "borrower", gpu=4),
            running("b", "near", gpu=2, priority=9),
            cohorts=FAR,
        ),
        2,
        {"b": RECLAIM},
    ),
    "what its cohort brings in, even to borrow": (
        preemptor(
            4,
            [mine(2), mate("borrower", 0, "far")],
            running("a", "borrower", gpu=6),
            cohorts=RICH,
        ),
        4,
        {"a": RECLAIM},
    ),
    "what its cohort brings in, even when its own is used up": (
        preemptor(
            2,
            [mine(2), mate("borrower", 0, "far")],
            running("a", "borrower", gpu=4),
            running("b", gpu=2, priority=9),
            cohorts=RICH,
        ),
        2,
        {"a": RECLAIM},
    ),
    "the nearest by hierarchy, not by priority": (
        preemptor(
            4,
            [mine(2), mate("near", 0), mate("borrower", 0, "far")],
            running("a", "near", gpu=3),
            running("b", "borrower", gpu=3, priority=9),
            cohorts=RICH,
        ),
        3,
        {"b": RECLAIM},
    ),
    "a workload that is leaving anyway, regardless of the claim to other victims": (
        preemptor(
            2,
            [mine(4), mate()],
            running("a", "mate", gpu=4),
            running("b", gpu=2, evicted=True),
        ),
        2,
        {"b": OWN},
    ),
    "no quota that others keep from lending": (
        preemptor(
            4,
            [mine(2), mate("lender", Quota(6, lending_limit=1)), mate("borrower", 0)],
            running("a", "borrower", gpu=1),
        ),
        4,
        {},
    ),
    "what others lend is": (
        preemptor(
            3,
            [mine(2), mate("lender", Quota(6, lending_limit=3)), mate("borrower", 0)],
            running("a", "borrower", gpu=2),
            running("b", gpu=1),
        ),
        3,
        {"b": OWN},
    ),
    "to borrow, those of lower priority": (
        preemptor(4, [mine(2, terms=TERMS), mate()], running("a", "mate", gpu=4, priority=4)),
        4,
        {"a": WHILE_BORROWING},
    ),
    "to borrow, none without such terms": (
        preemptor(4, [mine(2), mate()], running("a", "mate", gpu=4, priority=4)),
        4,
        {},
    ),
    "to borrow, none of the same priority": (
        preemptor(4, [mine(2, terms=TERMS), mate()], running("a", "mate", gpu=4, priority=5)),
        4,
        {},
    ),
    "to borrow, those up to the threshold": (
        preemptor(
            3,
            [mine(2, terms=UP_TO_3), mate()],
            running("a", "mate", gpu=1, priority=4),
            running("b", "mate", gpu=3, priority=3),
        ),
        3,
        {"b": WHILE_BORROWING},
    ),
    "above the threshold, if that is enough without borrowing": (
        preemptor(
            2,
            [mine(4, terms=UP_TO_3), mate()],
            running("a", "mate", gpu=4, priority=4),
            running("b", gpu=2, priority=9),
        ),
        2,
        {"a": RECLAIM},
    ),
    "none above the threshold to borrow": (
        preemptor(
            3,
            [mine(2, terms=UP_TO_3), mate()],
            running("a", "mate", gpu=4, priority=4),
        ),
        3,
        {},
    ),
    "the own to borrow, where all others are above the threshold": (
        preemptor(
            2,
            [mine(2, terms=UP_TO_3), mate()],
            running("a", "mate", gpu=2, priority=4),
            running("b", gpu=2, priority=4),
            running("c", gpu=0),
        ),
        2,
        {"b": OWN},
    ),
}


@pytest.mark.parametrize(("of", "wants", "expected"), CASES.values(), ids=CASES.keys())
def test_victims_by_priority_and_reclaim(
    of: Preemptor, wants: int, expected: dict[str, PreemptionReason]
) -> None:
    assert victims(of, {L4: wants}, {L4}) == expected


T4, CPU = fr("t4"), fr("l4", "cpu")
BOTH = {"l4": {GPU: 2}, "t4": {GPU: 2}}
WITH_CPU = {"l4": {GPU: 4, "cpu": 4}}


def using(name: str, in_queue: str, priority: int = 0, **usage: int) -> Workload:
    """A workload that holds resources of flavor l4."""
    assigned = PodSetAssignment("workers", 1, dict.fromkeys(usage, "l4"), usage)
    return workload(name, in_queue, 1, priority=priority, admission=Admission(in_queue, (assigned,)))


SEVERAL: dict[str, tuple[Preemptor, Usage, set[FlavorResource], dict[str, PreemptionReason]]] = {
    "one on each flavor": (
        preemptor(1, [mine(BOTH)], running("a", gpu=2, flavor="t4"), running("b", gpu=2)),
        {L4: 1, T4: 1},
        {L4, T4},
        {"a": OWN, "b": OWN},
    ),
    "none if one flavor does not fit": (
        preemptor(1, [mine(BOTH)], running("a", gpu=2, flavor="t4"), running("b", gpu=2, priority=9)),
        {L4: 1, T4: 1},
        {L4, T4},
        {},
    ),
    "none for a resource that is free": (
        preemptor(1, [mine(BOTH)], running("a", gpu=1, flavor="t4"), running("b", gpu=2, priority=1)),
        {L4: 1, T4: 1},
        {L4},
        {"b": OWN},
    ),
    "a borrower of another resource than the contested one stays": (
        preemptor(
            1,
            [mine(WITH_CPU), mate("cpus", WITH_CPU), mate("gpus", WITH_CPU)],
            using("a", "cpus", cpu=6),
            using("b", "gpus", priority=9, **{GPU: 8, "cpu": 1}),
        ),
        {L4: 4, CPU: 1},
        {L4},
        {"b": RECLAIM},
    ),
    "no usage of a resource that it borrows but does not request": (
        preemptor(
            1,
            [mine(WITH_CPU), mate("mate", WITH_CPU)],
            using("a", "q", priority=9, cpu=5),
            using("b", "mate", **{GPU: 8}),
        ),
        {L4: 4, CPU: 0},
        {L4},
        {"b": RECLAIM},
    ),
}


@pytest.mark.parametrize(("of", "needs", "contested", "expected"), SEVERAL.values(), ids=SEVERAL.keys())
def test_several_resources(
    of: Preemptor, needs: Usage, contested: set[FlavorResource], expected: dict[str, PreemptionReason]
) -> None:
    assert victims(of, needs, contested) == expected


@pytest.mark.parametrize(("usage_based", "victim"), [(True, "b"), (False, "a")])
def test_a_queue_by_usage_spares_the_local_queue_that_used_less(usage_based: bool, victim: str) -> None:
    of = preemptor(
        2,
        [replace(mine(4), usage_based=usage_based)],
        running("a", gpu=2, priority=1, local_queue="ns/nothing"),
        running("b", gpu=2, priority=2, local_queue="ns/more"),
    )
    of.local_usage = {"ns/more": Fraction(2)}
    assert victims(of, {L4: 2}, {L4}) == {victim: OWN}
