"""Every order that decides something. Ties end at the UID, and at the key where UIDs are equal."""

from muster.admission.cycle.state import Holding
from muster.admission.model import Workload

QueueOrder = tuple[bool, int, int, str, str]
CycleOrder = tuple[bool, int, QueueOrder]
CandidateOrder = tuple[bool, int, int, int, str, str]


def queue_order(workload: Workload, sticky: bool = False) -> QueueOrder:
    """Within a queue: higher priority, then who waits longer (Kueue: baseCompareFunc).

    With `sticky`, as BestEffortFIFO has it, who waits for its victims comes before all.
    """
    first = sticky and workload.preempting
    return not first, -workload.priority, workload.queued_at_ms, workload.uid, workload.key


def cycle_order(workload: Workload, preempting: bool, borrowing: int) -> CycleOrder:
    """Among the heads of a cycle: those who borrow less far first (Kueue: classicalIterator).

    Preemptors come before all, as with Kueue's gate PrioritizePreemptorWorkloads: without it
    another head can take what the victims leave, lose it to them again, and so on for ever.
    """
    return not preempting, borrowing, queue_order(workload)


def candidate_order(holding: Holding, rank: int) -> CandidateOrder:
    """Among those who may be preempted (Kueue: CandidatesOrdering, NewCandidateIterator).

    Who is leaving anyway comes first; then by `rank` (other queues before the own one); then the
    lower priority; then who got its quota last.
    """
    workload = holding.workload
    return (
        not holding.evicted,
        rank,
        workload.priority,
        -holding.reserved_at_ms,
        workload.uid,
        workload.key,
    )
