"""Aging: waiting boosts a workload's place in the order, but evicts nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission import (
    Aging,
    Engine,
    FairSharing,
    PreemptionPolicy,
    QueueingStrategy,
    Rules,
    Snapshot,
    decide,
)
from tests.unit.admission.builders import (
    NOW_MS,
    admitted,
    applied,
    preempted,
    queue,
    running,
    snapshot,
    withdrawn,
    workload,
)
from tests.unit.admission.strategies import PROPERTY

AGING = Aging(step=10, period_ms=1000, boost_max=25)
RULES = Rules(aging=AGING)
FAIR = Rules(aging=AGING, fair_sharing=FairSharing())
LOWER = PreemptionPolicy.LOWER_PRIORITY


@pytest.mark.parametrize(
    ("waited_ms", "priority_boost", "next_ms"),
    [(-5, 0, 1000), (0, 0, 1000), (999, 0, 1000), (1000, 10, 2000), (2999, 20, 3000), (3000, 25, None)],
)
def test_it_rises_step_by_step_up_to_a_limit(
    waited_ms: int, priority_boost: int, next_ms: int | None
) -> None:
    assert AGING.boost(waited_ms) == priority_boost
    assert AGING.next_boost_ms(0, waited_ms) == next_ms


@PROPERTY
@given(
    st.builds(Aging, st.integers(1, 9), st.integers(1, 9), st.integers(0, 30)),
    st.integers(0, 99),
    st.integers(0, 99),
)
def test_nothing_changes_before_the_next_rise(aging: Aging, queued_at_ms: int, waited_ms: int) -> None:
    now_ms = queued_at_ms + waited_ms
    next_ms = aging.next_boost_ms(queued_at_ms, now_ms)
    priority_boost = aging.boost(waited_ms)
    assert 0 <= priority_boost <= aging.boost_max
    if next_ms is None:
        assert aging.boost(waited_ms + 10**9) == priority_boost
    else:
        assert aging.boost(next_ms - 1 - queued_at_ms) == priority_boost < aging.boost(next_ms - queued_at_ms)


def old_and_new(priority: int, **fields: object) -> Snapshot:
    """The old one has risen by 20."""
    return snapshot(
        queue("q", 4, **fields),
        workload("old", "q", 4, queued_at_ms=NOW_MS - 2500),
        workload("new", "q", 3, priority=priority, queued_at_ms=NOW_MS),
    )


@pytest.mark.parametrize(
    ("rules", "priority", "first"),
    [(Rules(), 1, "new"), (RULES, 20, "old"), (RULES, 21, "new")],
    ids=["off", "equal now", "not enough"],
)
def test_within_a_queue(rules: Rules, priority: int, first: str) -> None:
    assert admitted(decide(old_and_new(priority), NOW_MS, rules)) == [first]


@pytest.mark.parametrize(
    ("rules", "first"),
    [(Rules(), "new"), (RULES, "old"), (Rules(fair_sharing=FairSharing()), "new"), (FAIR, "old")],
)
def test_among_the_heads_of_a_cycle(rules: Rules, first: str) -> None:
    of = snapshot(
        [queue("a", 0, cohort="ml"), queue("b", 0, cohort="ml"), queue("c", 4, cohort="ml")],
        workload("old", "a", 4, queued_at_ms=NOW_MS - 2500),
        workload("new", "b", 4, priority=15, queued_at_ms=NOW_MS),
    )
    assert admitted(decide(of, NOW_MS, rules)) == [first]


def test_workload_that_it_was_admitted_before_does_not_take_its_place() -> None:
    of = old_and_new(20, within_queue=LOWER)
    plan = decide(of, NOW_MS, RULES)
    assert (admitted(plan), preempted(plan)) == (["old"], [])
    after = decide(applied(of, plan), NOW_MS, RULES)
    assert (admitted(after), preempted(after)) == ([], []), "it keeps its rise as long as it runs"
    assert preempted(decide(applied(of, plan), NOW_MS, Rules())) == [("old", "new")]


def test_age_alone_evicts_nothing() -> None:
    of = snapshot(
        queue("q", 4, within_queue=LOWER),
        running("r", gpu=4, priority=10, queued_at_ms=NOW_MS, reserved_at_ms=NOW_MS),
        workload("old", "q", 4, queued_at_ms=0),
    )
    assert preempted(decide(of, NOW_MS, RULES)) == []


def test_preemption_does_not_go_round_in_circles() -> None:
    of = old_and_new(30, within_queue=LOWER)
    now = applied(of, decide(of, NOW_MS, RULES))
    for round_ in range(1, 8):
        plan = decide(now, NOW_MS + round_ * 1000, RULES)
        assert preempted(plan) == []
        now = applied(withdrawn(now), plan, NOW_MS + round_ * 1000)


def test_it_says_when_it_rises_and_an_engine_looks_again_then() -> None:
    """A workload with a large enough boost becomes the head of a strict queue."""
    of = snapshot(
        queue("q", 4, strategy=QueueingStrategy.STRICT_FIFO),
        running("r", gpu=2),
        workload("big", "q", 4, priority=5, queued_at_ms=NOW_MS),
        workload("small", "q", 2, queued_at_ms=NOW_MS - 500),
    )
    engine = Engine(of, RULES)
    plan = engine.decide(NOW_MS)
    assert admitted(plan) == []
    assert {wait.workload: wait.until_ms for wait in plan.waiting} == {
        "ns/big": NOW_MS + 1000,
        "ns/small": NOW_MS + 500,
    }
    assert admitted(engine.decide(NOW_MS + 499)) == []
    assert admitted(engine.decide(NOW_MS + 500)) == ["small"]
