"""Tests how many waiting workloads a pass explains, and when it explains them again."""

from dataclasses import dataclass, field

from muster.admission import Engine, QueueingStrategy, Snapshot
from muster.controller.passes.explanations import (
    AGAIN_INTERVAL_MS,
    Explained,
    ExplanationLimits,
    Explanations,
)
from tests.unit.admission.builders import NOW_MS, queue, running, snapshot, workload

ALL = ExplanationLimits(100, 100)


@dataclass
class Waiting:
    """Four workloads that wait behind one that fills their queue, and their explanations."""

    engine: Engine = field(default_factory=lambda: Engine(full()))
    explanations: Explanations = field(default_factory=Explanations)

    def decide(self, at_ms: int, limits: ExplanationLimits | None = ALL) -> Explained:
        self.engine.decide(NOW_MS + at_ms, explain=False)
        return self.explanations.explain(self.engine, NOW_MS + at_ms, limits)

    def explains(self, at_ms: int, limits: ExplanationLimits | None = ALL) -> set[str]:
        """Returns the names of the explained workloads."""
        return names(self.decide(at_ms, limits))


def names(explained: Explained) -> set[str]:
    return {key.removeprefix("ns/") for key in explained.keys}


def full(gpus: int = 4) -> Snapshot:
    return snapshot(queue("q", gpus), running("r", gpu=4), *(workload(name, "q", 3) for name in "wxyz"))


def test_new_ones_are_explained_in_turn_within_the_limit() -> None:
    stage = Waiting()
    first = stage.decide(0, ExplanationLimits(3, 100))
    assert (len(first.keys), first.new, first.new_left) == (3, 3, True)
    second = stage.decide(1, ExplanationLimits(3, 100))
    assert (len(second.keys), second.new_left) == (1, False)
    assert {waiting.workload for waiting in stage.explanations} == {f"ns/{name}" for name in "wxyz"}
    assert stage.explains(2) == set()


def test_those_that_may_wait_for_something_else_are_explained_again_after_the_interval() -> None:
    stage = Waiting()
    stage.decide(0)
    stage.engine.put(workload("more", "q", 1))
    again = stage.decide(1)
    assert (names(again), again.again_ms) == ({"more"}, NOW_MS + AGAIN_INTERVAL_MS)
    later = stage.decide(AGAIN_INTERVAL_MS, ExplanationLimits(0, 3))
    assert (len(later.keys), later.again) == (3, 3)
    assert later.again_ms == NOW_MS + AGAIN_INTERVAL_MS, "one is left"
    last = stage.decide(AGAIN_INTERVAL_MS)
    assert (len(last.keys), last.again_ms) == (1, None)


def test_those_behind_a_workload_that_got_quota_are_explained_at_once_after_new_ones() -> None:
    strict = queue("q", 4, strategy=QueueingStrategy.STRICT_FIFO)
    waiting = (workload(name, "q", 4, queued_at_ms=n) for n, name in enumerate("wxyz"))
    stage = Waiting(Engine(snapshot(strict, running("r", gpu=4), *waiting)))
    stage.decide(0)
    stage.engine.remove("ns/r")
    stage.engine.put(workload("more", "q", 4, queued_at_ms=9))
    stage.engine.decide(NOW_MS + 1, explain=False)
    stage.explanations.forget("ns/w")
    first = stage.explanations.explain(stage.engine, NOW_MS + 1, ExplanationLimits(2, 0))
    assert (names(first), first.new_left) == ({"more", "x"}, True)
    last = stage.decide(2, ExplanationLimits(9, 0))
    assert (names(last), last.new_left) == ({"y", "z"}, False)
    assert {waiting.others for waiting in stage.explanations} == {(), ("ns/x",)}


def test_without_limits_all_that_may_wait_for_something_else_are_explained_at_once() -> None:
    stage = Waiting()
    stage.decide(0, None)
    stage.engine.put(workload("more", "q", 1))
    assert stage.explains(1, None) == {"more", *"wxyz"}
    assert stage.explains(2, None) == set()


def test_a_new_engine_makes_no_known_workload_a_new_one() -> None:
    stage = Waiting()
    stage.decide(0)
    stage.engine = Engine(full(gpus=5))
    stage.explanations.renew()
    stage.engine.put(workload("more", "q", 9))
    assert stage.explains(1) == {"more"}
    assert stage.explains(AGAIN_INTERVAL_MS) == set("wxyz")


def test_what_does_not_wait_any_more_is_forgotten() -> None:
    stage = Waiting()
    stage.decide(0)
    stage.explanations.take_changed()
    stage.engine.remove("ns/w")
    stage.explanations.forget("ns/w")
    assert stage.explanations.take_changed()
    assert stage.explanations.get("ns/w") is None
    assert stage.explanations.get("ns/x") is not None


def test_a_clock_that_is_set_back_delays_no_explanation() -> None:
    stage = Waiting()
    stage.decide(3_600_000)
    stage.engine.put(workload("more", "q", 1))
    assert stage.explains(0) == {"more", *"wxyz"}
