"""Backfill: a workload that does not delay the head may start before it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission import (
    HOSTNAME,
    Budget,
    ClusterQueue,
    Engine,
    Flavor,
    LabelSelector,
    Plan,
    PreemptionPolicy,
    QueueingStrategy,
    Requirement,
    Rules,
    Snapshot,
    TopologyRequest,
    WaitReason,
    Workload,
    decide,
)
from tests.unit.admission.builders import (
    GPU,
    NOW_MS,
    admitted,
    applied,
    host,
    messages,
    on,
    pods,
    preempted,
    queue,
    reasons,
    running,
    snapshot,
    without,
    workload,
)
from tests.unit.admission.strategies import PROPERTY

STRICT = QueueingStrategy.STRICT_FIFO
RULES = Rules(backfill=True)
HOUR = 3_600_000
ML = {"cohort": "ml"}
RECLAIMS = ML | {"reclaim_within_cohort": PreemptionPolicy.ANY}


def runs(name: str, gpu: int, hours: int | None, in_queue: str = "q", **fields: Any) -> Workload:
    """A workload that has just started."""
    run_time_ms = None if hours is None else hours * HOUR
    defaults = {"reserved_at_ms": NOW_MS} | fields
    return running(name, in_queue, gpu=gpu, run_time_ms=run_time_ms, **defaults)


def waits(name: str, gpu: int, hours: int | None, at_ms: int, in_queue: str = "q", **fields: Any) -> Workload:
    run_time_ms = None if hours is None else hours * HOUR
    return workload(name, in_queue, gpu, queued_at_ms=at_ms, run_time_ms=run_time_ms, **fields)


def strict(*workloads: Workload, gpus: int = 4) -> Snapshot:
    return snapshot(queue("q", gpus, strategy=STRICT), *workloads)


def best(*workloads: Workload, gpus: int = 4) -> Snapshot:
    return snapshot(queue("q", gpus), *workloads)


HEAD = waits("head", 4, 1, 1)
ONE_HOUR = runs("r", 3, 1)
LATE = running("r", gpu=3, run_time_ms=1, reserved_at_ms=NOW_MS - 2)
TWO_QUEUES = [queue("q", 4, strategy=STRICT, **ML), queue("p", 0, **ML)]

CASES: dict[str, tuple[Snapshot, list[str], list[str]]] = {
    # snapshot; admitted with the rule; admitted without it
    "a workload that ends in time starts before a strict head": (
        strict(ONE_HOUR, HEAD, waits("w", 1, 1, 2)),
        ["w"],
        [],
    ),
    "a workload that ends later does not": (strict(ONE_HOUR, HEAD, waits("w", 1, 2, 2)), [], []),
    "one without a declared run time does not": (strict(ONE_HOUR, HEAD, waits("w", 1, None, 2)), [], []),
    "unless it takes what the head does not need": (
        strict(ONE_HOUR, HEAD, waits("w", 1, None, 2), gpus=5),
        ["w"],
        [],
    ),
    "nor does a later end starve the head of a BestEffortFIFO queue": (
        best(ONE_HOUR, HEAD, waits("w", 1, 2, 2)),
        [],
        ["w"],
    ),
    "a workload that ends in time goes first there too": (
        best(ONE_HOUR, HEAD, waits("w", 1, 1, 2)),
        ["w"],
        ["w"],
    ),
    "all later workloads are tried": (
        strict(ONE_HOUR, HEAD, waits("long", 1, 2, 2), waits("big", 2, 1, 3), waits("w", 1, 1, 4)),
        ["w"],
        [],
    ),
    "workloads that differ only in run time too": (
        best(ONE_HOUR, HEAD, waits("long", 1, 2, 2), waits("w", 1, 1, 3)),
        ["w"],
        ["long"],
    ),
    "without declared run times all is as without the rule": (
        strict(runs("r", 3, None), HEAD, waits("w", 1, 1, 2)),
        [],
        [],
    ),
    "and in a BestEffortFIFO queue": (best(runs("r", 3, None), HEAD, waits("w", 1, 2, 2)), ["w"], ["w"]),
    "one without a declaration may continue, if others make room": (
        strict(runs("r", 1, 1), runs("x", 1, None), waits("head", 3, 1, 1), waits("w", 1, 1, 2)),
        ["w"],
        [],
    ),
    "the head fits when the second has ended": (
        strict(runs("r", 1, 1), runs("x", 2, 2), HEAD, waits("w", 1, 2, 2)),
        ["w"],
        [],
    ),
    "the head fits when the first has ended": (
        strict(runs("r", 2, 1), runs("x", 1, 3), waits("head", 3, 1, 1), waits("w", 1, 2, 2)),
        [],
        [],
    ),
    "a workload that runs longer than declared is about to end": (
        best(LATE, HEAD, waits("w", 1, 1, 2)),
        [],
        ["w"],
    ),
    "so is a workload that is leaving": (
        best(runs("r", 3, None, evicted=True), HEAD, waits("w", 1, 1, 2)),
        [],
        ["w"],
    ),
    "a head that fits goes": (
        strict(runs("r", 1, 1), waits("head", 3, 1, 1), waits("w", 1, 9, 2)),
        ["head"],
        ["head"],
    ),
    "a workload that can never fit reserves nothing, but the next one does": (
        best(ONE_HOUR, waits("never", 9, 1, 0), HEAD, waits("w", 1, 2, 2)),
        [],
        ["w"],
    ),
    "a workload that can never fit blocks a strict queue": (
        strict(ONE_HOUR, waits("never", 9, 1, 0), HEAD, waits("w", 1, 1, 2)),
        [],
        [],
    ),
    "no other queue of the cohort delays the head": (
        snapshot([queue("q", 4, **RECLAIMS), queue("p", 0, **ML)], ONE_HOUR, HEAD, waits("w", 1, 2, 2, "p")),
        [],
        ["w"],
    ),
    "one in time may borrow": (snapshot(TWO_QUEUES, ONE_HOUR, HEAD, waits("w", 1, 1, 2, "p")), ["w"], []),
    "an older one in another queue is ahead of it": (
        snapshot(TWO_QUEUES, ONE_HOUR, HEAD, waits("w", 1, 2, 0, "p")),
        ["w"],
        ["w"],
    ),
    "an older workload that fits is not crowded out by a workload that borrows less": (
        snapshot(
            [queue("a", 2, **ML), queue("b", 2, **ML)], waits("old", 4, 1, 1, "a"), waits("new", 2, 1, 2, "b")
        ),
        ["old"],
        ["new"],
    ),
    "nor by a workload that does not fit, and keeps its own quota from borrowers": (
        snapshot(
            [queue("q", 4, strategy=STRICT, **ML), queue("p", 2, **ML)],
            runs("r", 3, 1, "p"),
            waits("old", 3, 1, 1, "p"),
            waits("new", 4, 1, 2),
        ),
        ["old"],
        [],
    ),
    "the second head has what the first one leaves": (
        # first takes all 4 of a in an hour, second all 2 of b in two
        snapshot(
            [queue("a", 4, strategy=STRICT), queue("b", 2, strategy=STRICT)],
            runs("r", 3, 1, "a"),
            runs("s", 1, 2, "b"),
            waits("first", 4, 1, 1, "a"),
            waits("second", 2, 1, 2, "b"),
            waits("w", 1, 1, 3, "a"),
            waits("x", 1, 2, 4, "b"),
        ),
        ["w", "x"],
        [],
    ),
    "a second head of the cohort is not delayed either": (
        snapshot(
            [queue("a", 4, strategy=STRICT, **ML), queue("b", 2, strategy=STRICT, **ML), queue("c", 1, **ML)],
            runs("r", 4, 1, "a"),
            runs("s", 2, 2, "b"),
            waits("first", 4, 1, 1, "a"),
            waits("second", 2, 1, 2, "b"),
            waits("w", 1, 9, 3, "c"),
            waits("x", 1, 9, 4, "c"),
        ),
        ["w"],
        ["w"],
    ),
    "a head that only its namespace keeps out reserves nothing": (
        snapshot(
            queue("q", 4, namespaces=LabelSelector((Requirement("team", "Exists"),))),
            replace(HEAD, key="other/head"),
        ),
        [],
        [],
    ),
    "nor does a workload that its budget keeps out": (
        snapshot(
            [queue("q", 4, budgets=(Budget(GPU, HOUR, 24 * HOUR),), **ML), queue("p", 0, **ML)],
            HEAD,
            waits("w", 4, 9, 2, "p"),
        ),
        ["w"],
        ["w"],
    ),
    "a workload that its budget lets in does": (
        snapshot(
            [queue("q", 4, budgets=(Budget(GPU, 99 * HOUR, 24 * HOUR),), **ML), queue("p", 0, **ML)],
            ONE_HOUR,
            HEAD,
            waits("w", 1, 9, 2, "p"),
        ),
        [],
        ["w"],
    ),
}


@pytest.mark.parametrize(("of", "with_rule", "without_it"), CASES.values(), ids=CASES)
def test_backfill_admits_what_does_not_delay_the_head(
    of: Snapshot, with_rule: list[str], without_it: list[str]
) -> None:
    assert admitted(decide(of, NOW_MS, RULES)) == with_rule
    assert admitted(decide(of, NOW_MS)) == without_it


def test_note_names_the_reservation_and_its_head() -> None:
    plan = decide(best(ONE_HOUR, HEAD, waits("long", 1, 2, 2), waits("some", 1, None, 3)), NOW_MS, RULES)
    assert reasons(plan) == {
        "head": WaitReason.QUOTA,
        "long": WaitReason.RESERVED,
        "some": WaitReason.RESERVED,
    }
    assert messages(plan) == {
        "head": f"needs 4 {GPU} of flavor l4 but ClusterQueue q has 1 of 4 left, and quota is reserved for "
        "it at the declared end of running workloads",
        "long": "fits, but would delay ns/head, which is ahead of it and has a reservation",
        "some": "fits, but declares no run time and would delay ns/head, which is ahead of it and has a "
        "reservation",
    }
    assert {wait.until_ms for wait in plan.waiting} == {NOW_MS + HOUR}


def test_no_moment_is_told_that_has_come() -> None:
    plan = decide(best(LATE, HEAD, waits("w", 1, 1, 2)), NOW_MS, RULES)
    assert {wait.until_ms for wait in plan.waiting} == {None}


def test_no_preemption_for_a_workload_that_may_not_start() -> None:
    of = snapshot(
        queue("q", 4, within_queue=PreemptionPolicy.LOWER_PRIORITY),
        runs("r", 2, 1, priority=5),
        runs("low", 2, 1),
        waits("head", 4, 1, 2, priority=4),
        waits("w", 2, 2, 3, priority=3),
    )
    assert preempted(decide(of, NOW_MS)) == [("low", "w")]
    assert preempted(decide(of, NOW_MS, RULES)) == []


def test_workload_that_waits_for_its_victims_has_no_reservation_but_stays_first() -> None:
    of = snapshot(
        [queue("q", 4, within_queue=PreemptionPolicy.LOWER_PRIORITY, **ML), queue("p", 1, **ML)],
        runs("r", 3, 9),
        waits("head", 4, 1, 1, priority=1),
        waits("w", 1, 9, 2, "p"),
    )
    plan = decide(of, NOW_MS, RULES)
    assert (preempted(plan), admitted(plan)) == ([("r", "head")], ["w"])
    again = decide(applied(of, plan), NOW_MS, RULES)
    assert (preempted(again), admitted(again)) == ([], [])
    assert reasons(again) == {"head": WaitReason.PREEMPTION}


def test_places_are_reserved_too() -> None:
    """There is quota for both, but the head needs the whole of a host."""
    racks = Flavor("l4", topology="racks")
    near = TopologyRequest(required=HOSTNAME)
    held = runs("r", 4, 1)
    assert held.admission is not None
    (assigned,) = held.admission.pod_sets
    placed = replace(assigned, topology=on(("x", 1)))
    held = replace(held, admission=replace(held.admission, pod_sets=(placed,)))
    head = workload("head", "q", pods(gpu=8, topology=near), queued_at_ms=1, run_time_ms=HOUR)

    def small(hours: int) -> Workload:
        return workload("w", "q", pods(gpu=4, topology=near), queued_at_ms=2, run_time_ms=hours * HOUR)

    def of(*workloads: Workload) -> Snapshot:
        return snapshot(queue("q", 99), *workloads, flavors=[racks], hosts=[host("x", 8)])

    assert admitted(decide(of(held, head, small(1)), NOW_MS, RULES)) == ["w"]
    assert admitted(decide(of(held, head, small(2)), NOW_MS, RULES)) == []
    assert admitted(decide(of(held, head, small(2)), NOW_MS)) == ["w"]


def test_an_engine_lets_others_in_once_the_head_is_gone() -> None:
    of = snapshot(TWO_QUEUES, ONE_HOUR, HEAD, waits("w", 1, 2, 2, "p"))
    engine = Engine(of, RULES)
    assert admitted(engine.decide(NOW_MS)) == []
    engine.remove("ns/head")
    assert admitted(engine.decide(NOW_MS)) == ["w"]


QUEUES: Sequence[Sequence[ClusterQueue]] = (
    [queue("q", 6, strategy=STRICT)],
    [queue("q", 6)],
    [queue("q", 4, strategy=STRICT, **ML), queue("p", 2, **ML)],
    [queue("q", 3, **ML), queue("p", 3, strategy=STRICT, **ML), queue("o", 0, **ML)],
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Sequence[ClusterQueue], list[Workload]]:
    queues = draw(st.sampled_from(QUEUES))
    at_ms = 0
    coming = []
    for number in range(draw(st.integers(2, 10))):
        at_ms += draw(st.integers(0, 3))
        coming.append(
            workload(
                f"w{number}",
                draw(st.sampled_from([queue.name for queue in queues])),
                draw(st.integers(1, 6)),
                queued_at_ms=at_ms,
                uid=f"u{number:02}",
                run_time_ms=draw(st.integers(1, 6)),
            )
        )
    return queues, coming


@PROPERTY
@given(histories())
def test_no_head_starts_later_than_was_reserved(
    history: tuple[Sequence[ClusterQueue], list[Workload]],
) -> None:
    """Workloads end as declared. The first of all that wait has a reservation that holds."""
    queues, coming = history
    now = snapshot(queues)
    promised: dict[str, int] = {}
    started: dict[str, int] = {}
    for now_ms in range(coming[-1].queued_at_ms + sum(queued.run_time_ms or 0 for queued in coming) + 1):
        over = [queued for queued in now.workloads if queued.admission and _ends_ms(queued) == now_ms]
        now = without(now, *(queued.key.removeprefix("ns/") for queued in over))
        arriving = [queued for queued in coming if queued.queued_at_ms == now_ms]
        now = replace(now, workloads=(*now.workloads, *arriving))
        plan = decide(now, now_ms, RULES)
        now = applied(now, plan, now_ms)
        started |= {decision.workload: now_ms for decision in plan.admissions}
        promised |= _promise(now, plan, now_ms)
    assert started.keys() == {queued.key for queued in coming}, "no workload starves"
    assert all(started[key] <= shadow_ms for key, shadow_ms in promised.items())


def _ends_ms(workload: Workload) -> int:
    assert workload.run_time_ms is not None
    return workload.reserved_at_ms + workload.run_time_ms


def _promise(now: Snapshot, plan: Plan, now_ms: int) -> dict[str, int]:
    """The reservation of the first pending workload; all running ones declare their run times."""
    waiting = sorted(
        (workload.queued_at_ms, workload.uid, workload.key)
        for workload in now.workloads
        if not workload.admission
    )
    if not waiting:
        return {}
    *_, first = waiting[0]
    (until_ms,) = [workload.until_ms for workload in plan.waiting if workload.workload == first]
    assert until_ms is not None
    assert until_ms > now_ms
    return {first: until_ms}


@pytest.mark.parametrize("many", range(1, 8))
def test_room_is_reserved_from_when_just_so_many_have_ended(many: int) -> None:
    """Seven workloads end one after the other, hour by hour."""
    ending = [runs(f"r{hours}", 1, hours) for hours in range(1, 8)]
    plan = decide(strict(*ending, waits("head", many, 1, 1), gpus=7), NOW_MS, RULES)
    assert [wait.until_ms for wait in plan.waiting] == [NOW_MS + many * HOUR]
