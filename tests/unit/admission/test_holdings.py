"""The order of a queue's holdings, kept while they come and go."""

from itertools import permutations

import pytest

from muster.admission import PreemptionPolicy, Rules, Workload
from muster.admission.preemption.bound import PreemptionBound
from muster.admission.state.holdings import ORDERS_MAX, Holding, Precedence, QueueHoldings
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import GPU, fr, queue, running, snapshot, workload

HOLDERS = (  # in order
    running("leaving", priority=9, evicted=True),
    running("low", priority=1),
    running("late", priority=3, reserved_at_ms=9, queued_at_ms=1),
    running("early", priority=3, reserved_at_ms=8, queued_at_ms=2),
    running("high", priority=5),
)
ALL = (99.0,)
USED = frozenset((fr("l4"),))


def holdings(*workloads: Workload) -> QueueHoldings:
    return WorkingState(snapshot(queue("q", 9), *workloads)).holdings["q"]


def names(of: QueueHoldings, bound: Precedence = ALL) -> list[str]:
    return [held.workload.uid for held in of.below(bound, USED)]


BOUNDS: dict[str, tuple[Precedence, list[str]]] = {
    "everybody": (ALL, ["leaving", "low", "late", "early", "high"]),
    "below a priority rank": ((6,), ["low"]),
    "and newer of the same": ((6, -1), ["low", "early"]),
    "workloads that are leaving too": ((18, -1), ["low", "late", "early", "high"]),
    "none": ((2,), []),
}


@pytest.mark.parametrize(("bound", "expected"), BOUNDS.values(), ids=BOUNDS.keys())
def test_holdings_below_a_bound_come_in_order(bound: Precedence, expected: list[str]) -> None:
    assert names(holdings(*HOLDERS[::-1]), bound) == expected


@pytest.mark.parametrize("asked_before", [True, False])
def test_the_order_is_kept_while_they_come_and_go(asked_before: bool) -> None:
    for some in permutations(HOLDERS, 3):
        of = holdings(*some[:2])
        if asked_before:
            names(of)
        node = next(iter(of.values())).node
        third = Holding(some[2], node, {fr("l4"): 1}, some[2].reserved_at_ms, some[2].evicted)
        of.put(third)
        expected = [workload.uid for workload in sorted(some, key=HOLDERS.index)]
        assert names(of) == expected
        of.drop(third)
        assert names(of) == [uid for uid in expected if uid != some[2].uid]
        assert set(of) == {workload.key for workload in some[:2]}


@pytest.mark.parametrize("asked_before", [True, False])
def test_evicted_holding_comes_first(asked_before: bool) -> None:
    of = holdings(running("low", priority=1), running("high", priority=5))
    if asked_before:
        names(of)
    high = of["ns/high"]
    of.evict(high)
    assert high.evicted
    assert names(of) == ["high", "low"]


@pytest.mark.parametrize("asked_before", [True, False])
def test_only_holdings_that_use_a_resource_come(asked_before: bool) -> None:
    of = holdings(running("l4", priority=1))
    node, t4 = of["ns/l4"].node, frozenset((fr("t4"),))
    if asked_before:
        assert list(of.below(ALL, t4)) == []
    other = Holding(workload("t4", "q", 1, priority=2), node, {fr("t4"): 1}, 0, False)
    of.put(other)
    assert (list(of.below(ALL, t4)), names(of)) == ([other], ["l4"])
    assert list(of.below(ALL, USED | t4)) == [of["ns/l4"], other]
    of.drop(other)
    assert list(of.below(ALL, t4)) == []


def test_a_queue_keeps_few_orders_whatever_is_asked_for() -> None:
    """Tenants choose the resources that workloads contend for: any subset of a queue's resources."""
    of = holdings(running("low", priority=1), running("high", priority=5))
    for number in range(2 * ORDERS_MAX + 1):
        resources = USED | {fr(f"flavor-{number}")}
        assert [held.workload.uid for held in of.below(ALL, resources)] == ["low", "high"]
    assert len(of._in_order) <= ORDERS_MAX
    of.drop(of["ns/low"])
    assert names(of) == ["high"]


def preemptible(of: QueueHoldings, priority: int) -> int:
    node, q = next(iter(of.values())).node, queue("q", 9, within_queue=PreemptionPolicy.LOWER_PRIORITY)
    head = workload("head", "q", 1, priority=priority)
    # A request of the quota's size may fit up to the usage of the workloads that it may preempt.
    return int(PreemptionBound(node, q, of, Rules(), head).most_used(fr("l4"), 9))


def test_preemptible_usage_is_counted_again_after_each_change() -> None:
    of = holdings(
        running("low", priority=1, gpu=2), running("middle", priority=3), running("high", priority=5)
    )
    assert [preemptible(of, priority) for priority in (0, 2, 4, 2, 6)] == [0, 2, 3, 2, 4]
    low = of["ns/low"]
    of.drop(low)
    assert [preemptible(of, priority) for priority in (2, 4)] == [0, 1]
    of.put(low)
    assert [preemptible(of, priority) for priority in (2, 4)] == [2, 3]
    of.set_over_budget(of["ns/high"], True)
    assert [preemptible(of, priority) for priority in (2, 4)] == [3, 4]


def test_holding_uses_its_flavors_resources() -> None:
    held = holdings(running("a"))["ns/a"]
    assert held.uses([fr("t4"), fr("l4")])
    assert not held.uses([fr("t4")])


def test_holding_has_an_assignment_for_each_pod_set() -> None:
    held = holdings(running("a", gpu=3))["ns/a"]
    assert [assigned.usage for assigned in held.pod_sets] == [{GPU: 3}]
    assert Holding(workload("b", "q", 1), held.node, {}, 0, False).pod_sets == ()
