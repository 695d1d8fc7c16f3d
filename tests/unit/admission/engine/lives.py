"""Random lives of an engine: calls that change it, and the configurations they are drawn for."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from muster.admission import Aging, Engine, FairSharing, Plan, Rules, Snapshot, Waiting, Workload, decide
from tests.unit.admission.builders import NOW_MS, applied
from tests.unit.admission.ledger import Ledger
from tests.unit.admission.strategies import crowds, snapshots

RULES = (Rules(), Rules(prioritize_preemptors=True), Rules(fair_sharing=FairSharing()))


OPTIONAL_RULES = (
    Rules(backfill=True),
    Rules(aging=Aging(1, 1000, 3)),
    Rules(backfill=True, fair_sharing=FairSharing()),
    Rules(run_time_ms_min=5),
)


CLUSTERS = snapshots() | crowds()


class Life(RuleBasedStateMachine):
    """Objects change, the engine receives each change, and every decision is compared with that of
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
        first = self.objects[data.draw(st.sampled_from(sorted(self.objects)))]
        self.put(replace(first, parked=not first.parked))

    @rule()
    def victims_leave(self) -> None:
        for workload in [body for body in self.objects.values() if body.evicted]:
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
        assert plan_changes(again) == ((), (), ())
        assert plan_changes(decide(self.snapshot(), self.now_ms, self.by)) == ((), (), ())

    def decide_as_a_fresh_engine(self) -> None:
        before = self.snapshot()
        fresh = Engine(before, self.by)
        expected, plan = fresh.decide(self.now_ms), self.engine.decide(self.now_ms)
        assert plan_changes(plan) == plan_changes(expected)
        assert _waits(self.engine, self.now_ms) == _waits(fresh, self.now_ms)
        after = applied(before, replace(plan, waiting=tuple(self.engine.waiting(self.now_ms))), self.now_ms)
        assert Ledger(after).overrun() == []
        assert {workload.key: workload for workload in self.engine.snapshot.workloads} == _by_key(after)
        self.objects = _by_key(after)


def plan_changes(plan: Plan) -> tuple[Any, ...]:
    return plan.admissions, plan.preemptions, plan.drained


def _waits(engine: Engine, now_ms: int) -> list[Waiting]:
    return list(engine.waiting(now_ms))


def _by_key(of: Snapshot) -> dict[str, Workload]:
    return {workload.key: workload for workload in of.workloads}
