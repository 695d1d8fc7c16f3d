"""The incremental engine decides what a fresh one decides on the same objects, whatever happens."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.admission import Engine, Plan, Rules, Snapshot, decide
from muster.admission.pruning.feasibility import Feasibility
from muster.admission.pruning.try_everything import TryEverything
from muster.admission.pruning.wake_index import WakeIndex
from muster.admission.queueing.groups import EquivalenceGroup
from muster.admission.queueing.pending import PendingQueue
from tests.unit.admission.builders import NOW_MS, applied, without
from tests.unit.admission.engine.lives import CLUSTERS, OPTIONAL_RULES, RULES, Life, plan_changes
from tests.unit.admission.strategies import PROPERTY, crowds, examples


class Unbounded(WakeIndex):
    """Searches for victims regardless of the bound."""

    bounds_preemption = False


class Nominating(WakeIndex):
    """Admits no head without a nomination."""

    def feasibility(self, queue: PendingQueue, group: EquivalenceGroup) -> Feasibility:
        inner_estimate = super().feasibility(queue, group)
        inner_estimate.needs_only_quota = False
        return inner_estimate


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
        running = [workload.key for workload in now.workloads if workload.admission]
        if not running:
            return
        gone = running[end % len(running)]
        now = without(now, gone.removeprefix("ns/"))
        engine.remove(gone)
        plan = engine.decide(NOW_MS + number)
        assert plan_changes(plan) == plan_changes(decide(now, NOW_MS + number, rules))
        explained = replace(plan, waiting=tuple(engine.waiting(NOW_MS + number)))
        now = applied(now, explained, NOW_MS + number)
        for workload in now.workloads:
            engine.put(workload)


@PROPERTY
@given(CLUSTERS, CLUSTERS, st.sampled_from(RULES + OPTIONAL_RULES))
def test_pruning_changes_no_decision(first: Snapshot, then: Snapshot, rules: Rules) -> None:
    """The workloads of the second snapshot arrive while those of the first run."""
    before = decide(first, NOW_MS, rules)
    assert plan_changes(_ordered(before)) == plan_changes(
        _ordered(decide(first, NOW_MS, rules, TryEverything))
    )
    now = _come_later(first, then, before)
    after = decide(now, NOW_MS + 1, rules)
    assert plan_changes(_ordered(after)) == plan_changes(
        _ordered(decide(now, NOW_MS + 1, rules, TryEverything))
    )


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
    """Not even workloads that are known to fit are admitted without a nomination."""
    before = decide(first, NOW_MS, rules)
    assert _ordered(before) == _ordered(decide(first, NOW_MS, rules, Nominating))
    now = _come_later(first, then, before)
    after = decide(now, NOW_MS + 1, rules)
    assert _ordered(after) == _ordered(decide(now, NOW_MS + 1, rules, Nominating))


def _come_later(first: Snapshot, then: Snapshot, plan: Plan) -> Snapshot:
    """The workloads of another snapshot, to queues of the first."""
    now = applied(first, plan)
    late = [
        replace(workload, key=f"{workload.key}-late", uid=f"{workload.uid}-late")
        for workload in then.workloads
    ]
    late = [workload for workload in late if workload.cluster_queue in now.cluster_queues]
    return replace(now, workloads=(*now.workloads, *late))


def _ordered(plan: Plan) -> Plan:
    """Workloads of one cycle are admitted in the order of their queues, or of their places."""
    return replace(
        plan,
        admissions=tuple(sorted(plan.admissions, key=lambda waiting_workload: waiting_workload.workload)),
    )
