"""The cycles of queues that contend, without an engine."""

from unittest.mock import patch

from muster.admission import Flavor, PreemptionPolicy, decide
from muster.admission.engine import settlement
from muster.admission.engine.changes import Changes
from muster.admission.engine.contention import ContentionGroup
from muster.admission.engine.settlement import settle
from muster.admission.pruning.wake_index import WakeIndex
from muster.admission.queueing.pending import PendingQueue
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import (
    GPU,
    NOW_MS,
    admitted,
    pods,
    preempted,
    queue,
    running,
    snapshot,
    taint,
    workload,
)


def contention_group() -> ContentionGroup:
    """One waits for victims that it does not have."""
    state = WorkingState(snapshot(queue("q", 1), running("r")))
    pending = PendingQueue(state.queue("q"), state.tree.queues["q"])
    pending.put(workload("w", "q", 1, preempting=True))
    return ContentionGroup(state, ("q",), [pending], WakeIndex)


def test_preemptor_without_victims_is_unmarked() -> None:
    changes = Changes()
    settle(contention_group(), changes, NOW_MS)
    assert [(key, mark.preempting) for key, mark in changes.marked.items()] == [("ns/w", False)]
    assert changes.unmarked == {"ns/w"}, "once in a decision is enough"


def test_workload_is_unmarked_once_in_a_decision() -> None:
    changes = Changes()
    changes.unmarked.add("ns/w")
    settle(contention_group(), changes, NOW_MS)
    assert (changes.marked, changes.count) == ({}, 0)


def test_there_are_no_more_passes_and_cycles_than_there_can_be() -> None:
    """Otherwise it is worked out only after many of them."""
    terms = {"cohort": "c", "reclaim_within_cohort": PreemptionPolicy.ANY}
    of = snapshot(
        [queue("a", 2, **terms), queue("b", 2, **terms)],
        *(workload(f"{name}{gpus}", name, gpus) for name in "ab" for gpus in (1, 2, 3, 4)),
    )
    with patch.object(settlement, "_UNCHECKED", 0):
        assert admitted(decide(of, NOW_MS)) == ["a1", "b1", "a2"]


def test_a_head_that_can_not_be_had_tries_its_flavors_while_others_have_their_turns() -> None:
    """The first cycle admits `first`, and `big` tries plain; in the second `next` preempts and `big`
    tries spot. `small` follows, which would come before `next`, as it borrows nothing."""
    terms = {
        "cohort": "c",
        "within_queue": PreemptionPolicy.LOWER_PRIORITY,
        "reclaim_within_cohort": PreemptionPolicy.ANY,
    }
    of = snapshot(
        [
            queue("a", {"plain": {GPU: 4}}, **terms),
            queue("b", {"plain": {GPU: 4}, "spot": {GPU: 4}}, **terms),
            queue("rich", {"plain": {GPU: 8}}, cohort="c"),
        ],
        running("low", "a", 6, "plain"),
        running("high", "a", 6, "plain", priority=1),
        running("r", "b", 2, "plain", priority=2),
        workload("first", "a", 2, priority=1),
        workload("next", "a", 2, priority=1, queued_at_ms=1),
        workload("big", "b", pods("head", gpu=2), pods("workers", gpu=2), priority=2),
        workload("small", "b", 2),
        flavors=[Flavor("spot", taints=(taint("spot"),))],
    )
    plan = decide(of, NOW_MS)
    assert admitted(plan) == ["first"]
    assert preempted(plan) == [("low", "next")]
