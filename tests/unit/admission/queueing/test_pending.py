"""Heads, groups and parking of one queue."""

from dataclasses import replace
from fractions import Fraction

import pytest

from muster.admission import LabelSelector, QueueingStrategy, Requirement, Workload
from muster.admission.queueing.pending import PendingQueue
from muster.admission.queueing.requeue import RequeueReason, requeues_immediately
from tests.unit.admission.builders import node, pods, queue, snapshot, workload

STRICT, BEST_EFFORT = QueueingStrategy.STRICT_FIFO, QueueingStrategy.BEST_EFFORT_FIFO


def pending(
    *workloads: Workload, strategy: QueueingStrategy = BEST_EFFORT, **local_usage: int
) -> PendingQueue:
    """`local_usage` by LocalQueue of namespace ns; without it, usage does not affect the order."""
    of = queue("q", 4, strategy=strategy, usage_based=bool(local_usage))
    usage = {f"ns/{name}": Fraction(used) for name, used in local_usage.items()}
    queue_result = PendingQueue(of, node(snapshot(of)), usage)
    for queued in workloads:
        queue_result.put(queued)
    queue_result.open()
    return queue_result


def admitted(of: PendingQueue) -> list[str]:
    """The names of all, in the order in which they are heads."""
    names = []
    while (head := of.head()) is not None:
        names.append(head.key.removeprefix("ns/"))
        of.admit_head()
    return names


ORDERS: dict[str, tuple[PendingQueue, list[str]]] = {
    "empty": (pending(), []),
    "groups are merged by their first ones": (
        pending(
            workload("a", "q", 1, queued_at_ms=1),
            workload("c", "q", 1, queued_at_ms=3),
            workload("b", "q", 2, queued_at_ms=2),
            workload("d", "q", 2, queued_at_ms=4),
        ),
        ["a", "b", "c", "d"],
    ),
    "a workload that waits for victims is first": (
        pending(workload("urgent", "q", 1, priority=9), workload("w", "q", 1, preempting=True)),
        ["w", "urgent"],
    ),
    "not in a strict queue": (
        pending(
            workload("urgent", "q", 1, priority=9), workload("w", "q", 1, preempting=True), strategy=STRICT
        ),
        ["urgent", "w"],
    ),
    "less used LocalQueues first": (
        pending(
            workload("urgent", "q", 1, priority=9, local_queue="ns/much"),
            workload("w", "q", 1, local_queue="ns/little"),
            workload("new", "q", 1, priority=-1, local_queue="ns/unknown"),
            much=2,
            little=1,
        ),
        ["new", "w", "urgent"],
    ),
}


@pytest.mark.parametrize(("of", "expected"), ORDERS.values(), ids=ORDERS.keys())
def test_heads_come_in_queue_order(of: PendingQueue, expected: list[str]) -> None:
    keys = of.keys_in_order()
    assert admitted(of) == expected
    assert keys == [f"ns/{name}" for name in expected]


def test_equivalent_workloads_are_parked_together_until_the_queue_opens_again() -> None:
    first, alike, other = workload("one", "q", 3), workload("alike", "q", 3), workload("z", "q", 1)
    of = pending(first, alike, other)
    assert of.requeue_head(RequeueReason.NO_FIT)
    assert of.head() is other
    assert of.place(alike)[1] is None
    assert of.requeue_head(RequeueReason.NO_FIT)
    assert (of.head(), of.head_group()) == (None, None)
    of.open()
    assert of.head() is alike


def test_new_workload_takes_part_when_the_queue_opens_again() -> None:
    of = pending(workload("a", "q", 1))
    of.put(workload("b", "q", 2, queued_at_ms=1))
    of.open()
    assert admitted(of) == ["a", "b"]


def test_workloads_wait_behind_the_head() -> None:
    first, alike, other = workload("a", "q", 1), workload("b", "q", 1), workload("c", "q", 2)
    for strategy, behind in ((STRICT, first), (BEST_EFFORT, None)):
        of = pending(first, alike, other, strategy=strategy)
        assert [of.place(each)[1] for each in (first, alike, other)] == [None, first, first]
        of.close()
        assert [of.place(each)[1] for each in (first, alike, other)] == [None, behind, behind]


def test_removed_ones_are_heads_no_more_and_are_not_kept_for_ever() -> None:
    many = [workload(f"w{n:03}", "q", 1, queued_at_ms=n) for n in range(100)]
    of = pending(*many)
    for removed_workload in many[:50]:
        of.remove(removed_workload)
    of.open()
    assert (of.head(), len(of)) == (many[50], 50)
    for removed_workload in many[51:]:
        of.remove(removed_workload)
    (group,) = of.groups
    assert (len(group), len(of)) == (1, 1)
    of.remove(many[50])
    of.open()
    assert (list(of.groups), of.head()) == ([], None)


def test_all_behind_the_head_are_still_to_be_tried() -> None:
    of = pending(*(workload(f"w{gpus}", "q", gpus, queued_at_ms=gpus) for gpus in (1, 2, 3)))
    assert {of.first(group).key for group in of.behind_head} == {"ns/w2", "ns/w3"}
    of.requeue_head(RequeueReason.NO_FIT)
    assert {of.first(group).key for group in of.behind_head} == {"ns/w3"}


def test_the_order_of_what_pods_ask_for_makes_no_difference() -> None:
    """A result for one holds for the other."""
    asked = {"cpu": 1, "memory": 2}, {"memory": 2, "cpu": 1}
    of = pending(*(workload(f"w{n}", "q", pods(requests=requests)) for n, requests in enumerate(asked)))
    assert len(list(of.groups)) == 1


NAMESPACES: dict[str, tuple[LabelSelector | None, int]] = {
    "from every namespace": (LabelSelector(), 1),
    "from none": (None, 1),
    "from some": (LabelSelector((Requirement("team", "Exists"),)), 2),
}


@pytest.mark.parametrize(("selector", "groups"), NAMESPACES.values(), ids=NAMESPACES.keys())
def test_namespaces_matter_only_to_a_queue_that_takes_workloads_from_some(
    selector: LabelSelector | None, groups: int
) -> None:
    of = queue("q", 4, namespaces=selector)
    queue_result = PendingQueue(of, node(snapshot(of)))
    for key in ("ml/w", "cv/w"):
        queue_result.put(replace(workload("w", "q", 1), key=key))
    assert len(list(queue_result.groups)) == groups


def test_memory_of_removed_ones_is_bounded() -> None:
    of = pending(*(workload(f"w{n:04}", "q", 1, queued_at_ms=n) for n in range(1000)))
    (group,) = of.groups
    for n in range(999, 4, -1):
        of.remove(workload(f"w{n:04}", "q", 1, queued_at_ms=n))
    assert len(group._heap) < 50


def test_preemptors_are_known() -> None:
    waits = workload("w", "q", 1, preempting=True)
    of = pending(waits, workload("x", "q", 1))
    assert list(of.preemptors) == [waits.key]
    of.remove(waits)
    assert list(of.preemptors) == []


REQUEUED_IMMEDIATELY = {  # reasons that requeue a head immediately, by strategy
    STRICT: set(RequeueReason) - {RequeueReason.NAMESPACE_MISMATCH},
    BEST_EFFORT: {
        RequeueReason.AFTER_NOMINATION,
        RequeueReason.PREEMPTION_FAILED,
        RequeueReason.PENDING_PREEMPTION,
    },
}


@pytest.mark.parametrize("strategy", REQUEUED_IMMEDIATELY)
@pytest.mark.parametrize("reason", RequeueReason)
def test_head_is_parked_by_strategy_and_reason(strategy: QueueingStrategy, reason: RequeueReason) -> None:
    of = pending(workload("w", "q", 1), strategy=strategy)
    parks = reason not in REQUEUED_IMMEDIATELY[strategy]
    assert of.requeue_head(reason) == parks
    assert (of.head() is None) == parks
    assert requeues_immediately(strategy, reason, pending_flavors=True)
