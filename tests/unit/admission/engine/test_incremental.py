"""The incremental engine decides what a fresh one decides on the same objects, whatever happens."""

from dataclasses import replace
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from muster.admission import Engine, FairSharing, Plan, Rules, Snapshot, Waiting, Workload, decide
from muster.admission.engine.prospects import Outlook, Prospect
from muster.admission.engine.turns import Turns
from muster.admission.preemption.reach import Reach
from tests.unit.admission.builders import NOW_MS, applied, without
from tests.unit.admission.ledger import Ledger
from tests.unit.admission.strategies import PROPERTY, crowds, examples, snapshots

RULES = (Rules(), Rules(prioritize_preemptors=True), Rules(fair_sharing=FairSharing()))
CLUSTERS = snapshots() | crowds()


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
def test_who_gets_what_others_leave_is_found(of: Snapshot, ends: list[int], rules: Rules) -> None:
    """One after the other ends; who runs then is no other than if all were looked at anew."""
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
@given(CLUSTERS, CLUSTERS, st.sampled_from(RULES))
def test_who_is_passed_over_would_have_tried_in_vain(first: Snapshot, then: Snapshot, rules: Rules) -> None:
    """The first ones run when the others come."""
    now = _come_later(first, then, decide(first, NOW_MS, rules))
    plan = decide(now, NOW_MS + 1, rules)
    outlook = Prospect.outlook

    def hopeful(prospect: Prospect) -> Outlook:
        found = outlook(prospect)
        return Outlook.WORTH_A_TRY if found is Outlook.HOPELESS else found

    with patch.object(Prospect, "outlook", hopeful):
        assert _changes(_ordered(decide(now, NOW_MS + 1, rules))) == _changes(_ordered(plan))


@PROPERTY
@given(CLUSTERS, CLUSTERS, st.sampled_from(RULES))
def test_who_is_out_of_reach_would_have_found_no_victims(
    first: Snapshot, then: Snapshot, rules: Rules
) -> None:
    now = _come_later(first, then, decide(first, NOW_MS, rules))
    plan = decide(now, NOW_MS + 1, rules)
    with patch.object(Reach, "has", lambda self, fr, amount: True):
        assert decide(now, NOW_MS + 1, rules) == plan


@PROPERTY
@given(CLUSTERS, CLUSTERS, st.sampled_from(RULES))
def test_who_comes_too_late_need_not_be_nominated(first: Snapshot, then: Snapshot, rules: Rules) -> None:
    """The others come while the first ones run."""
    before = decide(first, NOW_MS, rules)
    assert _ordered(before) == _ordered(_nominating_all(first, NOW_MS, rules))
    now = _come_later(first, then, before)
    after = decide(now, NOW_MS + 1, rules)
    assert _ordered(after) == _ordered(_nominating_all(now, NOW_MS + 1, rules))


def _come_later(first: Snapshot, then: Snapshot, plan: Plan) -> Snapshot:
    """The workloads of another snapshot, to queues of the first."""
    now = applied(first, plan)
    late = [replace(one, key=f"{one.key}-late", uid=f"{one.uid}-late") for one in then.workloads]
    late = [one for one in late if one.cluster_queue in now.cluster_queues]
    return replace(now, workloads=(*now.workloads, *late))


def _nominating_all(of: Snapshot, now_ms: int, rules: Rules) -> Plan:
    with patch.object(Turns, "plain", lambda self, heads, waiting: None):
        return decide(of, now_ms, rules)


def _ordered(plan: Plan) -> Plan:
    """Those of one cycle are let in in the order of their queues, or of their places."""
    return replace(plan, admissions=tuple(sorted(plan.admissions, key=lambda one: one.workload)))
