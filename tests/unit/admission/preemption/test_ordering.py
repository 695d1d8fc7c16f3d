from collections.abc import Mapping
from fractions import Fraction
from itertools import permutations

import pytest

from muster.admission import Workload
from muster.admission.preemption.ordering import ordered, own_queue_last
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import queue, running, snapshot

ORDER = [  # in which a workload of queue q tries them
    running("z", "mate", evicted=True, priority=9),
    running("y", evicted=True, priority=8),
    running("x", "mate", priority=9),
    running("w", priority=-1),
    running("v", reserved_at_ms=2),
    running("u", reserved_at_ms=1, uid="1"),
    running("t", reserved_at_ms=1, uid="2"),
    running("s", uid="3"),
    running("t2", uid="3"),
]


def test_candidates_are_tried_in_order() -> None:
    state = WorkingState(snapshot([queue("q", 9), queue("mate", 9)], *ORDER))
    held = [state.holdings[holding.cluster_queue][holding.key] for holding in ORDER]
    rank = own_queue_last(state.tree.queues["q"])
    for some in permutations(held, 3):
        assert ordered(some, rank) == sorted(some, key=held.index)


A, B = "ns/a", "ns/b"
MORE_OF_A = {A: Fraction(2), B: Fraction(1, 2)}
LOW_B, HIGH_A = running("low-b", local_queue=B), running("high-a", priority=9, local_queue=A)

USAGE = {  # with the usage of two LocalQueues: candidates, in order
    "more usage before lower priority": ([LOW_B, HIGH_A], MORE_OF_A, ["high-a", "low-b"]),
    "by priority where usage does not count": ([LOW_B, HIGH_A], {A: Fraction(2)}, ["low-b", "high-a"]),
    "by priority within a LocalQueue": (
        [running("low-a", local_queue=A), HIGH_A],
        MORE_OF_A,
        ["low-a", "high-a"],
    ),
    "a leaving one before more usage": (
        [running("leaving", local_queue=B, evicted=True), HIGH_A],
        MORE_OF_A,
        ["leaving", "high-a"],
    ),
    "other queues before more usage": (
        [running("other", "mate", local_queue=B, priority=10), HIGH_A],
        MORE_OF_A,
        ["other", "high-a"],
    ),
    "only within a queue, which keeps its places": (
        [
            running("low-b", "far", local_queue=B),
            running("mid", "mate", local_queue=A, priority=5),
            running("high-a", "far", local_queue=A, priority=9),
        ],
        MORE_OF_A,
        ["high-a", "mid", "low-b"],
    ),
    "an order although one queue's is by usage": (
        [
            running("low-b", "far", local_queue=B),
            running("mid", "mate", local_queue=B, priority=5),
            running("high-a", "far", local_queue=A, priority=9),
        ],
        {A: Fraction(1, 2), B: Fraction(2)},
        ["low-b", "mid", "high-a"],
    ),
}


@pytest.mark.parametrize(("workloads", "usage", "expected"), USAGE.values(), ids=USAGE.keys())
def test_order_by_usage(
    workloads: list[Workload], usage: Mapping[str, Fraction], expected: list[str]
) -> None:
    queues = [queue(name, 9) for name in ("q", "mate", "far")]
    state = WorkingState(snapshot(queues, *workloads))
    holdings_in_order = [candidate for held in state.holdings.values() for candidate in held.values()]
    rank = own_queue_last(state.tree.queues["q"])

    def usage_of(holding: Holding) -> Fraction | None:
        return usage.get(holding.workload.local_queue)

    for some in permutations(holdings_in_order):
        assert [held.workload.uid for held in ordered(some, rank, usage_of)] == expected
