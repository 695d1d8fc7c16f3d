"""Parked workloads are tried after all others, unless the rules unpark immediately."""

from dataclasses import replace

import pytest

from muster.admission import Engine, PreemptionPolicy, QueueingStrategy, Rules, Snapshot, Workload, decide
from muster.admission.queueing.pending import PendingQueue
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import (
    NOW_MS,
    admitted,
    preempted,
    queue,
    running,
    snapshot,
    workload,
)

STRICT = QueueingStrategy.STRICT_FIFO
ML = {"cohort": "ml"}

CASES: dict[str, tuple[Snapshot, list[str], list[str]]] = {
    # snapshot; admitted as Kueue does; admitted with immediate un-parking
    "a strict head before a parked one of higher priority": (
        snapshot(
            [queue("a", 2, **ML), queue("b", 0, strategy=STRICT, **ML)],
            workload("high", "a", 2, priority=9, parked=True),
            workload("low", "b", 2),
        ),
        ["low"],
        ["high"],
    ),
    "a newcomer before a parked one of its queue": (
        snapshot(queue("q", 2), workload("big", "q", 2, priority=9, parked=True), workload("new", "q", 1)),
        ["new"],
        ["big"],
    ),
    "a newcomer that is alike waits with the parked one": (
        snapshot(
            queue("q", 2), workload("old", "q", 2, parked=True), workload("new", "q", 2, queued_at_ms=1)
        ),
        ["old"],
        ["old"],
    ),
    "a strict queue parks none": (
        snapshot(
            queue("q", 2, strategy=STRICT),
            workload("first", "q", 2, priority=1, parked=True),
            workload("new", "q", 1),
        ),
        ["first"],
        ["first"],
    ),
    "no workload that waits for victims is parked": (
        snapshot(
            queue("q", 2),
            workload("first", "q", 2, preempting=True, parked=True),
            workload("new", "q", 1, priority=1),
        ),
        ["first"],
        ["first"],
    ),
    "what newcomers leave is for the parked": (
        snapshot(
            [queue("a", 2, **ML), queue("b", 2, **ML)],
            workload("parked", "a", 1, parked=True),
            workload("other", "b", 3, queued_at_ms=1),
        ),
        ["other", "parked"],
        ["parked", "other"],
    ),
}


@pytest.mark.parametrize(("of", "as_kueue", "at_once"), CASES.values(), ids=CASES)
def test_workloads_that_are_not_parked_are_tried_first(
    of: Snapshot, as_kueue: list[str], at_once: list[str]
) -> None:
    assert admitted(decide(of, NOW_MS)) == as_kueue
    assert admitted(decide(of, NOW_MS, Rules(immediate_unparking=True))) == at_once


def test_a_parked_one_may_take_back_what_a_newcomer_got() -> None:
    of = snapshot(
        queue("q", 2, within_queue=PreemptionPolicy.LOWER_PRIORITY),
        workload("high", "q", 2, priority=9, parked=True),
        workload("new", "q", 1),
    )
    plan = decide(of, NOW_MS)
    assert (admitted(plan), preempted(plan)) == (["high"], [])


def test_engine_knows_parked_workloads() -> None:
    of = snapshot(
        [queue("a", 2), queue("b", 0, strategy=STRICT)],
        running("r", "a", gpu=2),
        workload("w", "a", 1),
        workload("s", "b", 1),
    )
    engine = Engine(of)

    def parked() -> list[str]:
        return [workload.key for workload in engine.snapshot.workloads if workload.parked]

    assert parked() == []
    engine.decide(NOW_MS)
    assert parked() == ["ns/w"]
    engine.put(workload("late", "a", 2))
    assert parked() == ["ns/w"]
    engine.remove("ns/r")
    assert admitted(engine.decide(NOW_MS)) == ["late"], "as it is no longer parked than the other"
    assert parked() == ["ns/w"]


@pytest.mark.parametrize("parked", [True, False])
def test_a_workload_comes_back_from_its_backoff_as_parked_as_it_was_put(parked: bool) -> None:
    """`high` would take the quota if it were not parked; the engine's snapshot says the same."""
    high = workload("high", "q", 2, priority=9, requeue_at_ms=NOW_MS + 1)
    engine = Engine(snapshot(queue("q", 2), replace(high, parked=not parked)))
    engine.decide(NOW_MS)
    engine.put(replace(high, parked=parked))
    engine.put(workload("low", "q", 2))
    for of in (Engine(engine.snapshot), engine):
        assert admitted(of.decide(NOW_MS + 1)) == (["low"] if parked else ["high"])


def test_a_workload_is_not_parked_once_it_is_told_that_its_backoff_has_not_ended() -> None:
    """The reason that the controller writes: see UNTRIED in muster/translation/core_workload.py."""
    high = workload("high", "q", 2, priority=9, parked=True, requeue_at_ms=NOW_MS + 1)
    engine = Engine(snapshot(queue("q", 2), high))
    engine.decide(NOW_MS)
    engine.put(workload("low", "q", 2))
    for of in (Engine(engine.snapshot), engine):
        assert admitted(of.decide(NOW_MS + 1)) == ["high"]


def pending(*workloads: Workload) -> PendingQueue:
    of = snapshot(queue("q", 2), *workloads)
    line = PendingQueue(of.cluster_queues["q"], WorkingState(of).tree.queues["q"])
    for queued in workloads:
        line.put(queued, tried=queued.parked)
    return line


def test_parking_joins_those_that_are_alike() -> None:
    old, new, other = workload("old", "q", 1, parked=True), workload("new", "q", 1), workload("other", "q", 2)
    line = pending(new, old, other)
    assert set(line.parked) == {"ns/old"}
    assert [group.first()[1].key for group in line.fresh] == ["ns/other"], "new is like the parked one"
    line.park()
    assert set(line.parked) == {"ns/old", "ns/new", "ns/other"}
    assert sorted(len(group) for group in line.groups) == [1, 2]
    line.open()
    assert line.first_workloads(2) == [new, other], "ties end at the UID"
    line.remove(new)
    assert line.first_workloads(2) == [old, other]
    assert len(line) == 2


def test_workload_that_waits_for_victims_is_not_parked() -> None:
    line = pending(replace(workload("p", "q", 1), preempting=True), workload("w", "q", 1))
    line.park()
    assert set(line.parked) == {"ns/w"}


def test_a_newcomer_that_finds_no_room_is_parked_beside_the_others() -> None:
    engine = Engine(snapshot(queue("q", 2), running("r", gpu=2), workload("old", "q", 1)))
    engine.decide(NOW_MS)
    engine.put(workload("late", "q", 2))
    engine.decide(NOW_MS)
    assert {
        pending_workload.key for pending_workload in engine.snapshot.workloads if pending_workload.parked
    } == {"ns/old", "ns/late"}
