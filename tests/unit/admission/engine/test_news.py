"""Tests which workloads an engine reports as changed, and decisions that skip parked workloads."""

from muster.admission import Engine, StopPolicy
from tests.unit.admission.builders import NOW_MS, queue, running, snapshot, workload


def test_news_are_of_workloads_that_are_pending_since_the_last_decision() -> None:
    engine = Engine(
        snapshot(
            [queue("q", 2), queue("free", 1)],
            running("r", gpu=2),
            workload("a", "q", 1),
            workload("b", "q", 1),
        )
    )
    engine.decide(NOW_MS, explain=False)
    assert [*engine.newly_waiting] == ["ns/a", "ns/b"]
    engine.decide(NOW_MS, explain=False)
    assert [*engine.newly_waiting] == []
    engine.put(workload("c", "q", 1))
    engine.decide(NOW_MS, explain=False)
    assert [*engine.newly_waiting] == ["ns/c"]
    engine.put(workload("d", "other", 1))
    engine.put(workload("e", "q", 1))
    engine.remove("ns/r")
    assert len(engine.decide(NOW_MS, explain=False).admissions) == 2, "a and b"
    assert [*engine.newly_waiting] == ["ns/d", "ns/e"]
    engine.put(workload("f", "free", 1))
    assert len(engine.decide(NOW_MS, explain=False).admissions) == 1
    assert [*engine.newly_waiting] == [], "it was admitted immediately"


def test_without_unparking_a_queue_is_drained_where_none_waits() -> None:
    engine = Engine(snapshot(queue("q", 2, stop=StopPolicy.HOLD_AND_DRAIN), running("r", gpu=2)))
    plan = engine.decide(NOW_MS, unpark=False)
    assert ([*plan.drained], [*plan.admissions]) == (["ns/r"], [])
