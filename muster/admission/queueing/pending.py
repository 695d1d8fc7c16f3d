"""The pending workloads of one active queue, as its cycles take them."""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator

from muster.admission.model import ClusterQueue, QueueingStrategy, Workload
from muster.admission.queueing.order import queue_order
from muster.admission.quota.tree import QuotaNode

Shape = Hashable


class PendingQueue:
    """In queue order. The head stays where it is until it is admitted or parked."""

    __slots__ = ("_waiting", "blocked_by", "node", "parked", "queue")

    def __init__(self, queue: ClusterQueue, node: QuotaNode, workloads: Iterable[Workload]) -> None:
        self.queue = queue
        self.node = node
        sticky = queue.strategy is QueueingStrategy.BEST_EFFORT_FIFO
        ordered = sorted(workloads, key=lambda workload: queue_order(workload, sticky))
        self._waiting = deque((workload, shape(workload)) for workload in ordered)
        self.parked: list[Workload] = []  # tried, and not to be had now
        self.blocked_by: Workload | None = None  # a StrictFIFO head that left its place

    def head(self) -> Workload | None:
        if self.blocked_by is not None or not self._waiting:
            return None
        return self._waiting[0][0]

    def untried(self) -> Iterator[tuple[Workload, Workload]]:
        """Who waits behind whom."""
        workloads = (workload for workload, _ in self._waiting)
        blocker = self.blocked_by or next(workloads, None)
        if blocker is not None:
            yield from ((workload, blocker) for workload in workloads)

    def admit_head(self) -> None:
        self._waiting.popleft()

    def park_head(self) -> bool:
        """Lets the next one try, unless the queue is strict; says whether it did.

        Workloads of the same shape would get the same answer and are parked with it, as Kueue's
        scheduling equivalence does it.
        """
        if self.queue.strategy is QueueingStrategy.STRICT_FIFO:
            return False
        _, head_shape = self._waiting[0]
        self.parked += (workload for workload, other in self._waiting if other == head_shape)
        self._waiting = deque(pair for pair in self._waiting if pair[1] != head_shape)
        return True

    def put_back(self, workload: Workload) -> None:
        """An admission of this decision was taken back: not to be tried again in it."""
        if self.queue.strategy is QueueingStrategy.STRICT_FIFO:
            self.blocked_by = workload
        self.parked.append(workload)


def shape(workload: Workload) -> Shape:
    """Equal for workloads of a queue that differ in age and name only.

    Of two such workloads the younger one may preempt at most what the older one may.
    """
    return workload.priority, tuple(
        (
            pod_set.name,
            pod_set.count,
            frozenset(pod_set.requests.items()),
            frozenset(pod_set.node_selector.items()),
            pod_set.affinity,
            pod_set.tolerations,
        )
        for pod_set in workload.pod_sets
    )
