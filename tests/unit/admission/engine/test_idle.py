"""Tests whether and when an engine has something to decide."""

from collections.abc import Callable

import pytest

from muster.admission import NEVER_MS, Aging, Engine, PreemptionPolicy, Quota, Rules
from muster.admission.engine.live_state import Timers
from tests.unit.admission.builders import NOW_MS, admitted, cohort, queue, running, snapshot, workload


def engine(waits: bool = True) -> Engine:
    """A workload runs in each of two queues of a cohort, and in a queue without cohort; in the cohort
    another one may wait."""
    engine = Engine(
        snapshot(
            [queue("left", 2, cohort="ml"), queue("right", 2, cohort="ml"), queue("alone", 2)],
            *(running(f"{name}-runs", name, 2) for name in ("left", "right", "alone")),
            *([workload("waits", "left", 2)] if waits else []),
            cohorts=[cohort("ml")],
        )
    )
    engine.decide(NOW_MS)
    return engine


CHANGES: dict[str, tuple[Callable[[Engine], None], bool]] = {
    "nothing": (lambda _: None, True),
    "an unknown workload ends": (lambda of: of.remove("ns/unknown"), True),
    "one ends where none waits": (lambda of: of.remove("ns/alone-runs"), True),
    "a workload that runs arrives where none waits": (lambda of: of.put(running("new", "alone")), True),
    "one ends where another waits": (lambda of: of.remove("ns/right-runs"), False),
    "one arrives": (lambda of: of.put(workload("new", "alone", 1)), False),
    "a workload that waits ends": (lambda of: of.remove("ns/waits"), False),
}


@pytest.mark.parametrize(("change", "settled"), CHANGES.values(), ids=CHANGES.keys())
def test_engine_is_settled_unless_a_change_concerns_a_workload_that_waits(
    change: Callable[[Engine], None], settled: bool
) -> None:
    of = engine()
    assert of.settled
    change(of)
    assert of.settled is settled
    if settled:
        assert admitted(of.decide(NOW_MS)) == []


def test_end_of_the_last_one_that_waits_leaves_room_for_the_next() -> None:
    """Even though no decision looks at the queue meanwhile."""
    of = engine()
    of.remove("ns/waits")
    of.decide(NOW_MS)
    of.remove("ns/left-runs")
    assert of.settled
    of.put(workload("new", "left", 2))
    assert admitted(of.decide(NOW_MS)) == ["new"]


def test_decisions_are_the_same_without_explanations() -> None:
    of = engine(waits=False)
    of.remove("ns/left-runs")
    of.put(workload("fits", "left", 2))
    of.put(workload("waits", "left", 1, queued_at_ms=1))
    plan = of.decide(NOW_MS, explain=False)
    assert (admitted(plan), plan.waiting) == (["fits"], ())
    assert [wait.workload for wait in of.waiting(NOW_MS)] == ["ns/waits"]


def test_next_moment_is_the_first_at_which_time_alone_changes_decisions() -> None:
    of = snapshot(
        queue("q", Quota(2), within_queue=PreemptionPolicy.LOWER_PRIORITY, run_time_ms_min=500),
        running("r", "q", 2, reserved_at_ms=NOW_MS),
    )
    engine = Engine(of)
    assert (engine.decide(NOW_MS).preemptions, engine.next_ms) == ((), None), "nothing waits"
    engine.put(workload("urgent", "q", 2, priority=1))
    assert (engine.decide(NOW_MS).preemptions, engine.next_ms) == ((), NOW_MS + 500)
    engine.put(workload("later", "q", 1, requeue_at_ms=NOW_MS + 100))
    assert engine.next_ms == NOW_MS + 100
    engine.remove("ns/later")
    assert engine.next_ms == NOW_MS + 500
    engine.put(workload("not requeued", "q", 1, requeue_at_ms=NEVER_MS))
    assert engine.next_ms == NOW_MS + 500
    assert len(engine.decide(NOW_MS + 500).preemptions) == 1


def test_next_boost_of_a_workload_that_waits_is_a_moment_until_it_is_gone() -> None:
    engine = Engine(
        snapshot(queue("q", 1), running("r"), workload("w", "q", 1, queued_at_ms=NOW_MS)),
        Rules(aging=Aging(1, 1000, 2)),
    )
    engine.decide(NOW_MS)
    assert engine.next_ms == NOW_MS + 1000
    engine.remove("ns/w")
    engine.decide(NOW_MS + 1)
    assert engine.next_ms is None


def test_a_timer_that_is_set_again_rings_once() -> None:
    timers = Timers()
    for key, at_ms in (("a", 5), ("b", 3), ("a", 4), ("a", 4), ("c", 4), ("c", None), ("d", 9)):
        timers.set(key, at_ms)
    assert (timers.next_ms, list(timers.take_due(2))) == (3, [])
    assert list(timers.take_due(5)) == ["b", "a"]
    assert timers.next_ms == 9
