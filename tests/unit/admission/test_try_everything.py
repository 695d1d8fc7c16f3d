"""Pruning that prunes nothing."""

from muster.admission.pruning.protocol import Estimate
from muster.admission.pruning.try_everything import TryEverything
from muster.admission.queueing.pending import PendingQueue
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import queue, snapshot, workload


def test_every_queue_with_workloads_may_have_a_candidate() -> None:
    state = WorkingState(snapshot([queue("full", 0), queue("empty", 4)]))
    queues = {name: PendingQueue(state.queue(name), state.tree.queues[name]) for name in ("full", "empty")}
    queues["full"].put(workload("too large", "full", 9))
    everything = TryEverything(state, queues)
    assert list(everything.possible()) == [queues["full"]]
    assert [everything.has_candidate(of) for of in queues.values()] == [True, False]


def test_nothing_is_known_of_a_group() -> None:
    state = WorkingState(snapshot(queue("q", 0)))
    pending = PendingQueue(state.queue("q"), state.tree.queues["q"])
    pending.put(workload("too large", "q", 9))
    (group,) = pending.groups
    estimate = TryEverything(state, {"q": pending}).feasibility(pending, group)
    assert (estimate.estimate(), estimate.fits(), estimate.borrowing()) == (Estimate.POSSIBLE, False, 0)
