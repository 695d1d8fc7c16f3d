"""The incremental engine decides what a fresh one decides on the same objects, whatever happens."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from muster.admission import Aging, Engine, FairSharing, Plan, Rules, Snapshot, Waiting, Workload, decide
from muster.admission.pruning.feasibility import Feasibility
from muster.admission.pruning.try_everything import TryEverything
from muster.admission.pruning.wake_index import WakeIndex
from muster.admission.queueing.groups import EquivalenceGroup
from muster.admission.queueing.pending import PendingQueue
from tests.unit.admission.builders import NOW_MS, applied, without
from tests.unit.admission.ledger import Ledger
from tests.unit.admission.strategies import PROPERTY, crowds, examples, snapshots

RULES = (Rules(), Rules(prioritize_preemptors=True), Rules(fair_sharing=FairSharing()))
OPTIONAL_RULES = (
    Rules(backfill=True),
    Rules(aging=Aging(1, 1000, 3)),
    Rules(backfill=True, fair_sharing=FairSharing()),
    Rules(run_time_ms_min=5),
)
CLUSTERS = snapshots() | crowds()


class Unbounded(WakeIndex):
    """Searches for victims whatever the bound says."""

    bounds_preemption = False


class Nominating(WakeIndex):
    """Admits no head without a nomination."""

    def feasibility(self, queue: PendingQueue, group: EquivalenceGroup) -> Feasibility:
        found = super().feasibility(queue, group)
        found.room_decides = False
        return found


class Life(RuleBasedStateMachine):
    """Objects change, each change is told to the engine, and every decision is compared with that of
    a fresh engine; what the plan says is then carried out on the objects."""

    def __init__(self) -> None:
        super().__init__()
        self.coming: list[Workload] = []
        self.objects: dict[str, Workload] = {}
        self.now_ms = NOW_MS

    @initialize(of=CLUSTERS, rules=st.sampled_from(RULES))
    def begin(self, of: Snapshot, rules: Rules) -> None:
        self.of = replace(of, workloads=())
        self.by = rules
        self.coming = list(of.workloads)
        self.engine = Engine(self.of, self.by)

    def snapshot(self) -> Snapshot:
        return replace(self.of, workloads=tuple(self.objects.values()))

    def put(self, workload: Workload) -> None:
        self.objects[workload.key] = workload
        self.engine.put(workload)

    @precondition(lambda self: self.coming)
    @rule(many=st.integers(1, 4))
    def some_arrive(self, many: int) -> None:
        for workload in self.coming[:many]:
            self.put(workload)
        del self.coming[:many]

    @precondition(lambda self: self.objects)
    @rule(data=st.data())
    def one_ends(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.objects)))
        del self.objects[key]
        self.engine.remove(key)

    @precondition(lambda self: self.objects)
    @rule(data=st.data(), priority=st.integers(-1, 3))
    def one_changes(self, data: st.DataObject, priority: int) -> None:
        key = data.draw(st.sampled_from(sorted(self.objects)))
        self.put(replace(self.objects[key], priority=priority))

    @precondition(lambda self: self.objects)
    @rule(data=st.data())
    def one_is_taken_for_parked_or_not(self, data: st.DataObject) -> None:
        one = self.objects[data.draw(st.sampled_from(sorted(self.objects)))]
        self.put(replace(one, parked=not one.parked))

    @rule()
    def victims_leave(self) -> None:
        for workload in [one for one in self.objects.values() if one.evicted]:
            self.put(replace(workload, admission=None, evicted=False, reserved_at_ms=0))

    @rule(ms=st.integers(0, 2))
    def time_passes(self, ms: int) -> None:
        self.now_ms += ms

    @invariant()
    def decisions_are_those_of_a_fresh_engine(self) -> None:
        for _ in range(2 + len(self.objects)):
            self.decide_as_a_fresh_engine()
            if self.engine.settled:
                break
        again = self.engine.decide(self.now_ms)
        assert _changes(again) == ((), (), ())
        assert _changes(decide(self.snapshot(), self.now_ms, self.by)) == ((), (), ())

    def decide_as_a_fresh_engine(self) -> None:
        before = self.snapshot()
        fresh = Engine(before, self.by)
        expected, found = fresh.decide(self.now_ms), self.engine.decide(self.now_ms)
        assert _changes(found) == _changes(expected)
        assert _waits(self.engine, self.now_ms) == _waits(fresh, self.now_ms)
        after = applied(before, replace(found, waiting=tuple(self.engine.waiting(self.now_ms))), self.now_ms)
        assert Ledger(after).overrun() == []
        assert {one.key: one for one in self.engine.snapshot.workloads} == _by_key(after)
        self.objects = _by_key(after)


def _changes(plan: Plan) -> tuple[Any, ...]:
    return plan.admissions, plan.preemptions, plan.drained


def _waits(engine: Engine, now_ms: int) -> list[Waiting]:
    return list(engine.waiting(now_ms))


def _by_key(of: Snapshot) -> dict[str, Workload]:
    return {one.key: one for one in of.workloads}


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=examples(60), stateful_step_count=20, deadline=None, database=None)


@PROPERTY
@given(crowds(), st.lists(st.integers(0, 99), max_size=12), st.sampled_from(RULES))
def test_quota_that_is_released_goes_to_the_workload_that_a_fresh_engine_admits(
    of: Snapshot, ends: list[int], rules: Rules
) -> None:
    """Workloads end one after the other; each time the plan is that of a fresh engine."""
    engine = Engine(of, rules)
    now = applied(of, engine.decide(NOW_MS))
    for number, end in enumerate(ends):
        running = [one.key for one in now.workloads if one.admission]
        if not running:
            return
        gone = running[end % len(running)]
        now = without(now, gone.removeprefix("ns/"))
        engine.remove(gone)
        found = engine.decide(NOW_MS + number)
        assert _changes(found) == _changes(decide(now, NOW_MS + number, rules))
        told = replace(found, waiting=tuple(engine.waiting(NOW_MS + number)))
        now = applied(now, told, NOW_MS + number)
        for one in now.workloads:
            engine.put(one)


@PROPERTY
@given(CLUSTERS, CLUSTERS, st.sampled_from(RULES + OPTIONAL_RULES))
def test_pruning_changes_no_decision(first: Snapshot, then: Snapshot, rules: Rules) -> None:
    """The workloads of the second snapshot arrive while those of the first run."""
    before = decide(first, NOW_MS, rules)
    assert _changes(_ordered(before)) == _changes(_ordered(decide(first, NOW_MS, rules, TryEverything)))
    now = _come_later(first, then, before)
    after = decide(now, NOW_MS + 1, rules)
    assert _changes(_ordered(after)) == _changes(_ordered(decide(now, NOW_MS + 1, rules, TryEverything)))


@PROPERTY
@given(CLUSTERS, CLUSTERS, st.sampled_from(RULES))
def test_workloads_beyond_the_preemption_bound_find_no_victims(
    first: Snapshot, then: Snapshot, rules: Rules
) -> None:
    now = _come_later(first, then, decide(first, NOW_MS, rules))
    assert decide(now, NOW_MS + 1, rules, Unbounded) == decide(now, NOW_MS + 1, rules)


@PROPERTY
@given(CLUSTERS, CLUSTERS, st.sampled_from(RULES))
def test_nominating_all_heads_changes_no_plan(first: Snapshot, then: Snapshot, rules: Rules) -> None:
    """Not even those that are known to fit are admitted without a nomination."""
    before = decide(first, NOW_MS, rules)
    assert _ordered(before) == _ordered(decide(first, NOW_MS, rules, Nominating))
    now = _come_later(first, then, before)
    after = decide(now, NOW_MS + 1, rules)
    assert _ordered(after) == _ordered(decide(now, NOW_MS + 1, rules, Nominating))


def _come_later(first: Snapshot, then: Snapshot, plan: Plan) -> Snapshot:
    """The workloads of another snapshot, to queues of the first."""
    now = applied(first, plan)
    late = [replace(one, key=f"{one.key}-late", uid=f"{one.uid}-late") for one in then.workloads]
    late = [one for one in late if one.cluster_queue in now.cluster_queues]
    return replace(now, workloads=(*now.workloads, *late))


def _ordered(plan: Plan) -> Plan:
    """Those of one cycle are let in in the order of their queues, or of their places."""
    return replace(plan, admissions=tuple(sorted(plan.admissions, key=lambda one: one.workload)))
