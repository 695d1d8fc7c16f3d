"""Whom a workload of queue q may preempt. Names say what happens to a running workload."""

import pytest

from muster.admission import (
    ClusterQueue,
    Cohort,
    PreemptionPolicy,
    PreemptionReason,
    Quota,
    StopPolicy,
    Workload,
)
from muster.admission.cycle.state import WorkingState
from muster.admission.flavors.assigner import Grade, Mode
from muster.admission.preemption.classical import Preemptor, satisfies
from tests.unit.admission.builders import GPU, cohort, fr, queue, running, snapshot, workload

NEVER, LOWER = PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY
NEWER, ANY = PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY, PreemptionPolicy.ANY
OWN, RECLAIM = PreemptionReason.IN_CLUSTER_QUEUE, PreemptionReason.IN_COHORT_RECLAMATION
L4 = fr("l4")


def mine(
    quota: int | Quota, within: PreemptionPolicy = LOWER, reclaim: PreemptionPolicy = ANY
) -> ClusterQueue:
    return queue("q", quota, cohort="ml", within_queue=within, reclaim_within_cohort=reclaim)


def mate(name: str = "mate", quota: int | Quota = 2, in_cohort: str = "ml") -> ClusterQueue:
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


def victims(of: Preemptor, wants: int) -> dict[str, PreemptionReason]:
    before = [(node.name, dict(node.usage)) for node in of.node.lineage]
    targets = of.targets({L4: wants}, {L4})
    assert [(node.name, node.usage) for node in of.node.lineage] == before, "the quota is as it was"
    return {target.holding.workload.uid: target.reason for target in targets}


FAR = (cohort("ml", "org"), cohort("far", "org"))
RICH = (cohort("ml", "org", {"l4": {GPU: 4}}), cohort("far", "org"))

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
    "who is leaving anyway": (
        preemptor(
            2,
            [mine(4)],
            running("a", gpu=2, priority=1),
            running("b", gpu=2, priority=4, evicted=True),
        ),
        2,
        {"b": OWN},
    ),
    "nobody on another flavor": (
        preemptor(
            4,
            [mine(4), mate(quota=0)],
            running("a", gpu=4, flavor="t4"),
            running("b", gpu=4, priority=9),
        ),
        4,
        {},
    ),
    "nobody if all of them are not enough": (
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
    "nobody who does not borrow": (
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
        # More is used than there is: somebody lowered a quota.
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
    "nobody of a stopped queue": (
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
    "nobody in a cohort that does not borrow": (
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
}


@pytest.mark.parametrize(("of", "wants", "expected"), CASES.values(), ids=CASES.keys())
def test_targets(of: Preemptor, wants: int, expected: dict[str, PreemptionReason]) -> None:
    assert victims(of, wants) == expected


SIMULATED = {  # grade for 2 more GPUs
    "nobody": (preemptor(2, [mine(4)], running("a", gpu=4, priority=9)), Grade(Mode.NO_CANDIDATES, 1)),
    "own queue": (preemptor(2, [mine(4)], running("a", gpu=4)), Grade(Mode.PREEMPT, 0)),
    "other queues": (preemptor(2, [mine(2), mate()], running("a", "mate", gpu=4)), Grade(Mode.RECLAIM, 0)),
    "own queue, to borrow": (
        preemptor(2, [mine(1), mate()], running("a", "mate", gpu=1), running("b", gpu=2)),
        Grade(Mode.PREEMPT, 1),
    ),
}


@pytest.mark.parametrize(("of", "grade"), SIMULATED.values(), ids=SIMULATED.keys())
def test_simulate(of: Preemptor, grade: Grade) -> None:
    assert of.simulate(L4, 2) == grade


POLICIES = {  # lower, equal and newer, equal and older, higher priority
    NEVER: (False, False, False, False),
    LOWER: (True, False, False, False),
    NEWER: (True, True, False, False),
    ANY: (True, True, True, True),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_policies(policy: PreemptionPolicy) -> None:
    incoming = workload("in", priority=5, queued_at_ms=5)
    candidates = (
        running("lower", priority=4),
        running("newer", priority=5, queued_at_ms=6),
        running("older", priority=5, queued_at_ms=5),
        running("higher", priority=6, queued_at_ms=6),
    )
    assert tuple(satisfies(policy, incoming, one) for one in candidates) == POLICIES[policy]
