"""Deltas one by one: what the engine makes of them."""

from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import pytest

from muster.admission import (
    Admission,
    Aging,
    Engine,
    FairSharing,
    Flavor,
    Node,
    Plan,
    PodSet,
    PodSetAssignment,
    PreemptionPolicy,
    Quota,
    Rules,
    Snapshot,
    SnapshotError,
    StopPolicy,
    Topology,
    TopologyRequest,
    WaitReason,
    Workload,
    decide,
)
from muster.admission.engine import changes
from muster.admission.engine.contention import contenders
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import (
    GPU,
    NOW_MS,
    admitted,
    applied,
    cohort,
    host,
    on,
    pods,
    preempted,
    queue,
    reasons,
    running,
    snapshot,
    workload,
)


def test_a_finish_makes_room() -> None:
    engine = Engine(snapshot(queue("q", 1), running("r"), workload("w", "q", 1)))
    assert reasons(engine.decide(NOW_MS)) == {"w": WaitReason.QUOTA}
    assert engine.decide(NOW_MS).waiting == (), "it was reported before"
    engine.remove("ns/r")
    engine.remove("ns/r")  # not known any more
    assert admitted(engine.decide(NOW_MS)) == ["w"]
    assert [pending_workload.admission is not None for pending_workload in engine.snapshot.workloads] == [
        True
    ]


def test_confirmed_plan_changes_nothing_and_a_failed_write_is_decided_again() -> None:
    engine = Engine(snapshot(queue("q", 1)))
    pending = workload("w", "q", 1)
    engine.put(pending)
    assert admitted(engine.decide(NOW_MS)) == ["w"]
    engine.put(engine.snapshot.workloads[0])
    assert admitted(engine.decide(NOW_MS)) == []
    engine.put(pending)
    assert admitted(engine.decide(NOW_MS)) == ["w"]


def test_affected_workloads_are_those_of_settled_groups() -> None:
    objects = snapshot([queue("q", 0), queue("p", 0)], workload("w", "q", 1), workload("v", "p", 1))
    engine = Engine(objects)
    engine.decide(NOW_MS)
    assert sorted(engine.affected()) == ["ns/v", "ns/w"]
    engine.put(workload("x", "q", 1))
    engine.decide(NOW_MS)
    assert sorted(engine.affected()) == ["ns/w", "ns/x"]
    engine.decide(NOW_MS)
    assert list(engine.affected()) == []


def test_pending_workloads_are_affected_once_another_holds_quota() -> None:
    engine = Engine(snapshot(queue("q", 2), workload("w", "q", 3)))
    engine.decide(NOW_MS)
    engine.put(running("r"))
    engine.decide(NOW_MS)
    assert list(engine.affected()) == ["ns/w"]


def test_workload_that_is_not_parked_after_all_is_tried_first() -> None:
    engine = Engine(snapshot(queue("q", 1), running("r"), workload("first", "q", 1), workload("w", "q", 1)))
    engine.decide(NOW_MS)
    late = workload("w", "q", 1, priority=-1)
    engine.put(late)
    engine.decide(NOW_MS)
    engine.put(late)  # as it was before the last decision
    engine.remove("ns/r")
    assert admitted(engine.decide(NOW_MS)) == ["w"]


def test_what_was_tried_in_vain_may_be_left_to_a_later_decision() -> None:
    engine = Engine(snapshot(queue("q", 2), running("r", "q", 2), workload("tried", "q", 2)))
    engine.decide(NOW_MS)
    engine.remove("ns/r")
    engine.put(workload("new", "q", 1))
    assert admitted(engine.decide(NOW_MS, unpark=False)) == ["new"]
    assert not engine.settled
    engine.remove("ns/new")
    assert admitted(engine.decide(NOW_MS, unpark=False)) == []
    assert admitted(engine.decide(NOW_MS)) == ["tried"]
    engine.remove("ns/tried")
    assert engine.decide(NOW_MS, unpark=False) == Plan((), (), ())


def test_a_backoff_ends() -> None:
    engine = Engine(snapshot(queue("q", 1), workload("w", "q", 1, requeue_at_ms=NOW_MS + 5)))
    assert reasons(engine.decide(NOW_MS)) == {"w": WaitReason.BACKOFF}
    engine.put(workload("w", "q", 1, requeue_at_ms=NOW_MS + 7))
    engine.put(workload("gone", "q", 1, requeue_at_ms=NOW_MS + 6))
    engine.remove("ns/gone")
    assert admitted(engine.decide(NOW_MS + 6)) == []
    assert admitted(engine.decide(NOW_MS + 7)) == ["w"]


def test_workloads_in_no_queue() -> None:
    stopped = queue("stopped", 1, stop=StopPolicy.HOLD)
    engine = Engine(snapshot([stopped], workload("w", "stopped", 1), workload("x", "missing", 1)))
    engine.put(running("r", "missing"))
    waits = {"w": WaitReason.QUEUE_STOPPED, "x": WaitReason.QUEUE_INACTIVE}
    assert reasons(engine.decide(NOW_MS)) == waits
    for key in ("ns/w", "ns/x", "ns/r"):
        engine.remove(key)
    assert engine.snapshot.workloads == ()


def test_a_drained_queue_is_told_once() -> None:
    drained = queue("q", 2, stop=StopPolicy.HOLD_AND_DRAIN)
    engine = Engine(snapshot([drained], running("r"), running("gone", evicted=True)))
    assert engine.decide(NOW_MS).drained == ("ns/r",)
    assert engine.decide(NOW_MS).drained == ()
    assert [workload.evicted for workload in engine.snapshot.workloads] == [True, True]


def test_bad_input_changes_nothing() -> None:
    engine = Engine(snapshot(queue("q", 1), workload("w", "q", 1)))
    with pytest.raises(SnapshotError, match="Workload ns/w: pod sets"):
        engine.put(replace(workload("w", "q", 1), pod_sets=()))
    assert admitted(engine.decide(NOW_MS)) == ["w"]


def test_other_objects_start_it_afresh() -> None:
    engine = Engine(snapshot(queue("q", 1), workload("w", "q", 2)))
    engine.decide(NOW_MS)
    engine.load(replace(engine.snapshot, cluster_queues={"q": queue("q", 2)}))
    assert admitted(engine.decide(NOW_MS)) == ["w"]


def test_a_preemptor_is_marked_until_it_gives_up() -> None:
    engine = Engine(snapshot(queue("q", 1, within_queue=PreemptionPolicy.LOWER_PRIORITY), running("r")))
    engine.put(workload("w", "q", 1, priority=1))
    assert preempted(engine.decide(NOW_MS)) == [("r", "w")]
    marked = {
        pending_workload.key: pending_workload.preempting for pending_workload in engine.snapshot.workloads
    }
    assert marked == {"ns/r": False, "ns/w": True}
    engine.put(running("r", evicted=True, priority=2))
    assert reasons(engine.decide(NOW_MS)) == {"w": WaitReason.QUOTA}
    assert not any(pending_workload.preempting for pending_workload in engine.snapshot.workloads)


def test_workload_that_waits_for_victims_of_another_comes_first_after_a_restart_too() -> None:
    """The preemptor precedes higher priorities in its queue: a fresh engine derives it from the reason."""
    terms: dict[str, Any] = {"cohort": "ml", "reclaim_within_cohort": PreemptionPolicy.ANY}
    of = snapshot(
        [queue("a", 1, **terms), queue("b", 1, **terms), queue("borrower", 0, cohort="ml")],
        running("victim", "borrower", 2),
        workload("first", "a", 1, priority=1),
        workload("second", "b", 1),
    )
    rules = Rules(recompute_overlapping=True)
    engine = Engine(of, rules)
    plan = engine.decide(NOW_MS)
    assert preempted(plan) == [("victim", "first")]
    assert reasons(plan) == {"first": WaitReason.PREEMPTION, "second": WaitReason.PREEMPTION}
    fresh = Engine(applied(of, plan), rules)
    for tried_engine in (engine, fresh):
        tried_engine.put(workload("urgent", "b", 1, priority=9))
        tried_engine.decide(NOW_MS)
        tried_engine.remove("ns/victim")
        assert admitted(tried_engine.decide(NOW_MS)) == ["first", "second"]


def test_trees_contend_over_nodes_they_share() -> None:
    flavors = [Flavor("tpu", topology="racks"), Flavor("slow", topology="missing"), Flavor("cpu")]
    of = snapshot(
        [
            queue("a", {"tpu": {"gpu": 1}}, cohort="ml"),
            queue("b", {"cpu": {"gpu": 1}}, cohort="ml"),
            queue("c", {"tpu": {"gpu": 1}}),
            queue("d", {"cpu": {"gpu": 1}}),
            queue("e", {"slow": {"gpu": 1}}),
        ],
        flavors=flavors,
        cohorts=[cohort("ml")],
    )
    of = replace(of, topologies={"racks": Topology("racks", ("rack",))})
    together = {frozenset(names) for names in contenders(WorkingState(of))}
    assert together == {frozenset("abc"), frozenset("d"), frozenset("e")}


def test_workload_taken_back_too_often_waits_for_the_next_decision() -> None:
    of = snapshot(
        [queue("a", 0, cohort="ml"), queue("b", 4, cohort="ml", reclaim_within_cohort=PreemptionPolicy.ANY)],
        workload("loan", "a", 2, priority=1),
        workload("first", "b", 2, priority=1),
        workload("second", "b", 2),
    )
    with patch.object(changes, "_REVERTED_MAX", 1):
        engine = Engine(of)
        plan = engine.decide(NOW_MS)
    assert (admitted(plan), reasons(plan)) == (["first", "second"], {"loan": WaitReason.QUOTA})
    engine.remove("ns/first")
    assert admitted(engine.decide(NOW_MS)) == ["loan"]


def crowd_in_which_fair_sharing_goes_round() -> Snapshot:
    """Either small or heavy fits on l4. Small has the smaller share and comes first, and heavy preempts
    it by the very same shares. There is t4 for small as well, once loan has left it."""
    terms: dict[str, Any] = {"cohort": "ml", "reclaim_within_cohort": PreemptionPolicy.ANY}
    return snapshot(
        [
            queue("borrower", {"l4": {GPU: 0}, "t4": {GPU: 0}}, **terms),
            queue(
                "light",
                {"l4": {GPU: 3}, "t4": {GPU: 0}},
                weight=Fraction(1, 3),
                within_queue=PreemptionPolicy.LOWER_PRIORITY,
                **terms,
            ),
            queue("idle", {"l4": {GPU: 1}, "t4": {GPU: 0}}, **terms),
            queue("owner", {"l4": {GPU: 4}, "t4": {GPU: 3}}, **terms),
        ],
        running("loan", "borrower", 1, "t4"),
        running("low", "light", 1, "l4"),
        running("own", "owner", 3, "l4"),
        workload("heavy", "light", 3, priority=1),
        workload("small", "owner", 3),
        cohorts=[cohort("ml")],
    )


def test_workload_taken_back_too_often_is_tried_again_though_nothing_happens() -> None:
    of, rules = crowd_in_which_fair_sharing_goes_round(), Rules(fair_sharing=FairSharing())
    engine = Engine(of, rules)
    plan = engine.decide(NOW_MS)
    assert (admitted(plan), preempted(plan), engine.settled) == (["heavy"], [], False)
    fresh = decide(applied(of, plan), NOW_MS, rules)
    again = engine.decide(NOW_MS)
    assert preempted(again) == preempted(fresh) == [("loan", "small")]
    assert (preempted(engine.decide(NOW_MS)), engine.settled) == ([], True)


def test_workload_that_is_not_parked_is_tried_again_without_parked_ones() -> None:
    """`small` would fit on l4, but `big`, which can't reclaim its quota, keeps that in its first cycle. When
    `small` is tried alone `big` is parked, and keeps nothing."""
    terms: dict[str, Any] = {"cohort": "ml", "reclaim_within_cohort": PreemptionPolicy.ANY}
    reclaims_little = terms | {"reclaim_within_cohort": PreemptionPolicy.LOWER_PRIORITY}
    of = snapshot(
        [
            queue("entitled", {"l4": {GPU: 2}, "t4": {GPU: 2}}, **reclaims_little),
            queue("poor", {"l4": {GPU: Quota(0, borrowing_limit=0)}, "t4": {GPU: 0}}, **terms),
            queue("own", {"l4": {GPU: 0}, "t4": {GPU: 1}}, **terms),
            queue("lender", {"l4": {GPU: 2}, "t4": {GPU: 1}}, **terms),
        ],
        running("victim", "lender", 2, "t4"),
        running("other", "lender", 2, "t4"),
        running("loan", "own", 1, "l4"),
        workload("poor", "poor", 1),
        workload("big", "entitled", 4),
        workload("small", "own", 1),
        cohorts=[cohort("ml")],
    )
    rules = Rules(fair_sharing=FairSharing())
    engine = Engine(of, rules)
    plan = engine.decide(NOW_MS)
    assert (admitted(plan), len(plan.preemptions), engine.settled) == ([], 1, False)
    fresh = decide(applied(of, plan), NOW_MS, rules)
    assert admitted(engine.decide(NOW_MS)) == admitted(fresh) == ["small"]


def test_a_slice_takes_the_place_of_another() -> None:
    engine = Engine(snapshot(queue("q", 2), running("old"), workload("new", "q", 2, replaces="ns/old")))
    plan = engine.decide(NOW_MS)
    assert (admitted(plan), plan.replaced) == (["new"], ("ns/old",))
    assert [pending_workload.key for pending_workload in engine.snapshot.workloads] == ["ns/new"]


def test_a_slice_keeps_more_than_the_queue_has_by_now() -> None:
    of = snapshot(queue("q", 1), running("old", gpu=2), workload("new", "q", 2, replaces="ns/old"))
    assert admitted(Engine(of).decide(NOW_MS)) == ["new"]


def test_a_slice_whose_successor_is_admitted_by_the_same_decision_never_starts() -> None:
    old, new = workload("old", "q", 1), workload("new", "q", 2, replaces="ns/old", queued_at_ms=1)
    engine = Engine(snapshot(queue("q", 4), old, new))
    plan = engine.decide(NOW_MS)
    assert (admitted(plan), plan.replaced) == (["new"], ("ns/old",))
    assert engine.fork().decide(NOW_MS) == Plan((), (), ())


def test_a_slice_starts_after_all_where_its_successor_is_taken_back() -> None:
    of = snapshot(
        [queue("a", 1, cohort="ml"), queue("b", 3, cohort="ml", reclaim_within_cohort=PreemptionPolicy.ANY)],
        workload("old", "a", 1),
        workload("new", "a", 3, replaces="ns/old", queued_at_ms=1),
        workload("first", "b", 1),
        workload("nothing", "b", 0, queued_at_ms=1),
        workload("second", "b", 2, queued_at_ms=2),
    )
    plan = Engine(of).decide(NOW_MS)
    assert sorted(admitted(plan)) == ["first", "nothing", "old", "second"]
    assert (preempted(plan), plan.replaced) == ([], ())


def test_a_slice_that_is_taken_back_leaves_the_other_where_it_was() -> None:
    of = snapshot(
        [queue("a", 0, cohort="ml"), queue("b", 4, cohort="ml", reclaim_within_cohort=PreemptionPolicy.ANY)],
        running("old", "a", priority=1),
        workload("new", "a", 2, priority=1, replaces="ns/old"),
        workload("first", "b", 2, priority=1),
        workload("second", "b", 2),
    )
    plan = Engine(of).decide(NOW_MS)
    assert (admitted(plan), preempted(plan), plan.replaced) == (["first"], [("old", "second")], ())


def test_a_resource_without_quota() -> None:
    of = snapshot(queue("q", 1), running("r"), workload("w", "q", pods(gpu=1, requests={"tpu": 1})))
    engine = Engine(of)
    assert reasons(engine.decide(NOW_MS)) == {"w": WaitReason.NO_FLAVOR}
    ignoring = Engine(of, Rules(ignore_undeclared=True))
    ignoring.decide(NOW_MS)
    ignoring.remove("ns/r")
    assert admitted(ignoring.decide(NOW_MS)) == ["w"]


def test_quota_that_a_smaller_slice_frees_is_for_the_highest_priority() -> None:
    """Also for a workload that was just tried without success in the same pass."""
    of = snapshot(
        [queue("p", 0, cohort="ml"), queue("q", 4, cohort="ml")],
        running("old", gpu=4),
        workload("new", "q", 2, replaces="ns/old"),
        workload("big", "p", 2, priority=9),
        workload("small", "p", 1),
    )
    assert admitted(Engine(of).decide(NOW_MS)) == ["new", "big"]


NEAR = TopologyRequest(required="rack")
FIRST = workload("first", "q", pods(requests={"cpu": 1000}), priority=99)


def on_a_failed_node(*hosts: Node, others: tuple[Workload, ...] = ()) -> Snapshot:
    """Node x of r has failed; w may preempt it, once it is the head of the queue."""
    held = PodSetAssignment("workers", 2, {GPU: "l4"}, {GPU: 8}, topology=on(("x", 1), ("y", 1)))
    return snapshot(
        queue("q", {"l4": {GPU: 8}}, {"cpu": {"cpu": 1000}}, within_queue=PreemptionPolicy.LOWER_PRIORITY),
        workload("r", "q", _gang(2), admission=Admission("q", (held,)), unhealthy_nodes=("x",)),
        workload("w", "q", _gang(1), priority=9),
        *others,
        flavors=[Flavor("l4", topology="racks")],
        hosts=(host("y", gpu=4), *hosts),
    )


def _gang(count: int) -> PodSet:
    return pods(count=count, gpu=4, topology=NEAR)


def test_a_workload_that_moves_off_a_failed_node_may_be_preempted_at_once() -> None:
    of = on_a_failed_node(host("z", gpu=4))
    engine = Engine(of)
    plan = engine.decide(NOW_MS)
    assert (admitted(plan), preempted(plan)) == ([], [("r", "w")]), "it need not move any more"
    assert engine.snapshot.workloads == applied(of, plan).workloads
    assert _changes(engine.decide(NOW_MS)) == _changes(decide(applied(of, plan), NOW_MS)) == ([], [])
    engine.remove("ns/r")
    engine.put(workload("v", "q", _gang(1)))
    assert admitted(engine.decide(NOW_MS)) == ["w", "v"], "all nodes are free again"


def test_a_workload_that_has_to_leave_a_failed_node_is_not_preempted_as_well() -> None:
    plan = Engine(on_a_failed_node(others=(FIRST,))).decide(NOW_MS)
    assert (admitted(plan), plan.displaced, preempted(plan)) == (["first"], ("ns/r",), [])
    assert reasons(plan) == {"w": WaitReason.PREEMPTION}


def _changes(plan: Plan) -> tuple[list[str], list[tuple[str, str]]]:
    return admitted(plan), preempted(plan)


def test_workload_without_victims_may_preempt_once_another_runs() -> None:
    """Though as much is used as before."""
    high = running("r", gpu=2, priority=9)
    of = snapshot(queue("q", 2, within_queue=PreemptionPolicy.LOWER_PRIORITY), high)
    engine = Engine(of)
    engine.put(workload("w", "q", 2, priority=1))
    assert preempted(engine.decide(NOW_MS)) == []
    engine.put(replace(high, priority=0))
    assert preempted(engine.decide(NOW_MS)) == [("r", "w")]


def test_places_among_heads_change_with_the_time_that_they_wait() -> None:
    """One of two workloads that fit keeps waiting; next time its boost puts it above a new one."""
    rules = Rules(aging=Aging(step=10, period_ms=1000, boost_max=100), immediate_unparking=True)
    queues = [queue(name, 0, cohort="ml") for name in "ab"]
    engine = Engine(snapshot([*queues, queue("c", 4, cohort="ml")]), rules)
    engine.put(workload("old", "a", 4, queued_at_ms=NOW_MS - 1500))
    engine.put(workload("new", "b", 4, priority=15, queued_at_ms=NOW_MS))
    assert admitted(engine.decide(NOW_MS)) == ["new"]
    engine.remove("ns/new")
    engine.put(workload("newer", "b", 4, priority=15, queued_at_ms=NOW_MS + 500))
    assert admitted(engine.decide(NOW_MS + 500)) == ["old"]


def test_head_that_borrows_comes_after_one_that_does_not() -> None:
    """Though it has all of the other resource itself."""
    both = {"l4": {GPU: 2, "cpu": 0}}
    of = snapshot(
        [queue("a", both, cohort="ml"), queue("b", {"l4": {GPU: 0, "cpu": 1000}}, cohort="ml")],
        workload("urgent", "a", pods(gpu=1, requests={"cpu": 1000}), priority=9),
        workload("owner", "b", pods(requests={"cpu": 1000})),
    )
    assert admitted(Engine(of).decide(NOW_MS)) == ["owner"]


def test_what_the_first_of_a_cycle_borrows_is_not_there_for_the_second() -> None:
    """Though each of them would fit, and those like them were let in a moment before."""
    of = snapshot(
        [queue(name, 0, cohort="team") for name in "ab"],
        *(workload(f"{name}{n}", name, 1, queued_at_ms=n) for name in "ab" for n in (1, 2)),
        cohorts=[
            cohort("team", "all", {"l4": {GPU: Quota(0, borrowing_limit=3)}}),
            cohort("all", None, {"l4": {GPU: 9}}),
        ],
    )
    assert admitted(Engine(of).decide(NOW_MS)) == ["a1", "b1", "a2"]


def test_the_node_that_a_gang_has_left_is_free_for_the_next_decision() -> None:
    """The same in a reused engine and a fresh one."""
    held = PodSetAssignment("workers", 1, {GPU: "l4"}, {GPU: 4}, topology=on(("x", 1)))
    of = snapshot(
        queue("q", {"l4": {GPU: 64}}),
        workload("r", "q", _gang(1), admission=Admission("q", (held,)), unhealthy_nodes=("x",)),
        workload("w", "q", _gang(1)),
        flavors=[Flavor("l4", topology="racks")],
        hosts=[host("x", gpu=4), host("y", gpu=4, rack="r1"), host("z", gpu=4, rack="r2")],
    )
    engine = Engine(of)
    assert sorted(admitted(engine.decide(NOW_MS))) == ["r", "w"]
    engine.put(workload("v", "q", _gang(1)))
    assert admitted(engine.decide(NOW_MS)) == ["v"]
