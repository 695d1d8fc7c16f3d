"""`decide`: from everything at one moment to what should happen now."""

from muster.admission.cycle.cycle import Cycle, Outcome
from muster.admission.cycle.state import WorkingState
from muster.admission.explain import Explainer, Verdict, Wait
from muster.admission.model import Decision, Plan, Snapshot, StopPolicy, Workload
from muster.admission.queueing.pending import PendingQueue
from muster.admission.validation import check


def decide(snapshot: Snapshot, now_ms: int) -> Plan:
    """Runs scheduling cycles on the snapshot until nothing changes.

    Equal snapshots give equal plans, in whatever order their parts come. Victims keep their quota
    until a later snapshot shows it withdrawn. Raises SnapshotError for input that contradicts
    itself; a queue that names missing things is inactive, and the rest goes on.
    """
    check(snapshot)
    state = WorkingState(snapshot)
    explainer = Explainer(state, now_ms)
    pending = sorted((w for w in snapshot.workloads if w.admission is None), key=lambda w: w.key)
    aside = {w.key: waiting for w in pending if (waiting := explainer.not_queued(w)) is not None}
    queues = _queues(state, [w for w in pending if w.key not in aside])
    outcome = Outcome()
    # Every cycle but the last admits, parks, takes back or evicts somebody, each at most once.
    cycles_max = 2 * len(snapshot.workloads) + 1
    settled = any(not Cycle(state, queues, outcome, now_ms).run() for _ in range(cycles_max))
    assert settled, f"nothing settled after {cycles_max} cycles"
    verdicts = _verdicts(queues, outcome)
    return Plan(
        admissions=tuple(Decision(key, admission) for key, admission in outcome.admitted.items()),
        preemptions=tuple(outcome.preemptions),
        waiting=tuple(
            aside.get(w.key) or explainer.queued(w, verdicts.get(w.key, Verdict(Wait.NO_ROOM)))
            for w in pending
            if w.key not in outcome.admitted
        ),
        drained=_drained(state),
    )


def _queues(state: WorkingState, pending: list[Workload]) -> dict[str, PendingQueue]:
    by_queue: dict[str, list[Workload]] = {}
    for workload in pending:
        by_queue.setdefault(workload.cluster_queue, []).append(workload)
    return {
        name: PendingQueue(state.snapshot.cluster_queues[name], state.tree.queues[name], workloads)
        for name, workloads in sorted(by_queue.items())
    }


def _verdicts(queues: dict[str, PendingQueue], outcome: Outcome) -> dict[str, Verdict]:
    """Those of the cycles, and that of the workloads that no cycle came to."""
    untried = (pair for queue in queues.values() for pair in queue.untried())
    return outcome.verdicts | {w.key: Verdict(Wait.BEHIND, head.key) for w, head in untried}


def _drained(state: WorkingState) -> tuple[str, ...]:
    """Who is to leave a queue with HoldAndDrain and is not leaving already."""
    return tuple(
        sorted(
            key
            for name, queue in state.snapshot.cluster_queues.items()
            if queue.stop is StopPolicy.HOLD_AND_DRAIN
            for key, holding in state.holdings[name].items()
            if not holding.evicted
        )
    )
