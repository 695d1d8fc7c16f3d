"""The cycles of queues that contend, without an engine."""

from muster.admission.engine.arena import Arena
from muster.admission.engine.changes import Changes
from muster.admission.queueing.pending import PendingQueue
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import NOW_MS, queue, running, snapshot, workload


def arena() -> Arena:
    """One waits for victims that it does not have."""
    state = WorkingState(snapshot(queue("q", 1), running("r")))
    pending = PendingQueue(state.queue("q"), state.tree.queues["q"])
    pending.put(workload("w", "q", 1, preempting=True))
    return Arena(state, ("q",), [pending])


def test_who_has_no_victims_waits_for_none() -> None:
    changes = Changes()
    arena().settle(changes, NOW_MS)
    assert [(key, one.preempting) for key, one in changes.marked.items()] == [("ns/w", False)]


def test_who_has_ceased_to_wait_once_is_left_as_it_is() -> None:
    changes = Changes(unmarked={"ns/w"})
    arena().settle(changes, NOW_MS)
    assert (changes.marked, changes.count) == ({}, 0)
