"""The order within a queue. Ties end at the UID, and at the key where UIDs are equal."""

from muster.admission.model import Workload

QueueOrder = tuple[bool, int, int, str, str]


def queue_order(workload: Workload, sticky: bool = False) -> QueueOrder:
    """The order within a queue: higher priority, then the longer wait (Kueue: baseCompareFunc).

    With `sticky`, as BestEffortFIFO has it, a workload that waits for its victims comes before all.
    """
    first = sticky and workload.preempting
    return not first, -workload.priority, workload.queued_at_ms, workload.uid, workload.key
