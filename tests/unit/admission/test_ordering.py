from itertools import permutations

import pytest

from muster.admission import Workload
from muster.admission.cycle.state import WorkingState
from muster.admission.queueing.order import CandidateOrder, candidate_order, cycle_order, queue_order
from tests.unit.admission.builders import queue, running, snapshot, workload

QUEUE = {  # who goes before whom
    "higher priority": (
        workload("a", priority=2, queued_at_ms=9),
        workload("b", priority=1, queued_at_ms=0),
    ),
    "waits longer": (workload("b", queued_at_ms=1), workload("a", queued_at_ms=2)),
    "uid": (workload("b", uid="1"), workload("a", uid="2")),
    "key": (workload("a", uid="1"), workload("b", uid="1")),
    "preempting does not count": (workload("a", priority=2), workload("b", priority=1, preempting=True)),
}


@pytest.mark.parametrize(("first", "second"), QUEUE.values(), ids=QUEUE.keys())
def test_queue_order(first: Workload, second: Workload) -> None:
    assert queue_order(first) < queue_order(second)


def test_a_sticky_preemptor_stays_at_the_head() -> None:
    preemptor, urgent = workload("a", preempting=True), workload("b", priority=9)
    assert queue_order(preemptor, sticky=True) < queue_order(urgent, sticky=True)


CYCLE = {  # who, with its borrowing, goes before whom
    "preempts": (workload("a", preempting=True), 2, workload("b", priority=9), 0),
    "borrows less far": (workload("a"), 0, workload("b", priority=9), 1),
    "higher priority": (workload("b", priority=1), 1, workload("a"), 1),
    "waits longer": (workload("b", queued_at_ms=1), 0, workload("a", queued_at_ms=2), 0),
    "uid": (workload("b", uid="1"), 0, workload("a", uid="2"), 0),
}


@pytest.mark.parametrize(("first", "borrows", "second", "more"), CYCLE.values(), ids=CYCLE.keys())
def test_cycle_order(first: Workload, borrows: int, second: Workload, more: int) -> None:
    assert cycle_order(first, first.preempting, borrows) < cycle_order(second, False, more)


CANDIDATES = [  # in the order in which they are removed, each with its rank
    (running("z", evicted=True, priority=9), 2),
    (running("y", priority=9), 0),
    (running("x"), 1),
    (running("w", priority=-1), 2),
    (running("v", reserved_at_ms=2), 2),
    (running("u", reserved_at_ms=1, uid="1"), 2),
    (running("t", reserved_at_ms=1, uid="2"), 2),
]


def test_candidate_order() -> None:
    state = WorkingState(snapshot(queue("q", 9), *(one for one, _ in CANDIDATES)))
    holdings = state.holdings["q"]

    def key(pair: tuple[Workload, int]) -> CandidateOrder:
        return candidate_order(holdings[pair[0].key], pair[1])

    for some in permutations(CANDIDATES, 3):
        assert sorted(some, key=key) == sorted(some, key=CANDIDATES.index)
