"""The pending workloads of one active queue, as its cycles take them.

Those that are alike form a group; what a cycle learns of one holds for its group. `open` starts a
pass: everybody may try again. In the pass heads come in queue order; one that can not be had is
parked with its group, and the next one tries, unless the queue is strict.

Between decisions whoever was tried in vain stays parked (Kueue: inadmissible workloads), so that a
decision can try newcomers alone; in a strict queue nobody is.
"""

from collections.abc import Callable, Iterable, Iterator, KeysView
from fractions import Fraction
from heapq import heapify, heappop, heapreplace, nsmallest
from itertools import chain

from muster.admission.model import ClusterQueue, QueueingStrategy, Workload
from muster.admission.queueing.groups import Group, Line
from muster.admission.queueing.order import QueueOrder, queue_order
from muster.admission.queueing.requeue import Requeue, stays
from muster.admission.queueing.shape import Shape, shape
from muster.admission.queueing.usage import LocalUsage
from muster.admission.quota.tree import QuotaNode


class PendingQueue:
    """In queue order. The head stays where it is until it is admitted or parked."""

    __slots__ = (
        "_active",
        "_by_run_time",
        "_closed",
        "_complete",
        "_fresh",
        "_opened",
        "_strict",
        "_tried",
        "local_usage",
        "node",
        "preemptors",
        "queue",
        "rise",
    )

    def __init__(
        self,
        queue: ClusterQueue,
        node: QuotaNode,
        local_usage: LocalUsage | None = None,
        by_run_time: bool = False,
    ) -> None:
        """`local_usage` counts if the queue's LocalQueues go by what they used. `by_run_time`: no two are
        alike that declare different run times."""
        self.queue = queue
        self.node = node
        self.local_usage = local_usage if queue.usage_based else None
        self._by_run_time = by_run_time
        self.rise: Callable[[Workload], int] | None = None  # of its priority, while it waits
        self._strict = queue.strategy is QueueingStrategy.STRICT_FIFO
        self._fresh = Line()
        self._tried = Line()
        self.preemptors: dict[str, Workload] = {}  # who wait for their victims to leave, by key
        self._active: list[tuple[Fraction | int, QueueOrder, Group]] = []  # a heap
        self._opened = self._active  # as it was opened
        self._closed = False
        self._complete: bool | None = None  # opened for everybody or not, and the same would be now

    def __len__(self) -> int:
        return len(self._fresh.by_key) + len(self._tried.by_key)

    @property
    def groups(self) -> Iterable[Group]:
        return chain(self._fresh.groups.values(), self._tried.groups.values())

    @property
    def fresh(self) -> Iterable[Group]:
        """Those of the workloads that are not parked. One that is alike with parked ones is as good as
        parked itself (Kueue: hashToBulkMoveReason)."""
        tried = self._tried.groups
        if not self._fresh.groups:
            return ()
        return [group for alike, group in self._fresh.groups.items() if alike not in tried]

    @property
    def parked(self) -> KeysView[str]:
        """Keys of those who were tried in vain, and wait until everybody is tried."""
        return self._tried.by_key.keys()

    def put(self, workload: Workload, tried: bool = False) -> None:
        """A new one; it takes part from the next `open` on. `tried`: it is parked, where any are."""
        self._complete = None
        parked = tried and self._parks(workload)
        order = queue_order(workload, sticky=not self._strict)
        (self._tried if parked else self._fresh).put(self._shape(workload), order, workload)
        if workload.preempting:
            self.preemptors[workload.key] = workload

    def _parks(self, workload: Workload) -> bool:
        return not self._strict and not workload.preempting

    def stands_as(self, workload: Workload) -> bool:
        """Whether one that stands here, if it does, is parked just if it is to be."""
        key, parked = workload.key, workload.parked and self._parks(workload)
        return key not in (self._fresh if parked else self._tried).by_key

    def keys(self) -> Iterator[str]:
        """Of all that stand here."""
        yield from self._fresh.by_key
        yield from self._tried.by_key

    def remove(self, workload: Workload) -> None:
        """One that was put; not between `open` and the end of its pass."""
        self._complete = None
        self._line(workload.key).remove(workload.key)
        if workload.preempting:
            del self.preemptors[workload.key]

    def park(self) -> None:
        """Whoever stands here has been tried; not between `open` and the end of its pass."""
        if self._strict or not self._fresh.by_key:
            return
        self._complete = None
        if not self._tried.by_key and not self.preemptors:
            self._fresh, self._tried = self._tried, self._fresh
            return
        for group in list(self._fresh.groups.values()):
            if not self.first(group).preempting:
                self._fresh.hand_over(group, self._tried)

    def open(self, everybody: bool = True) -> None:
        """All groups may try (again), or only those that are not parked."""
        self._closed = False
        if self._complete is not everybody or self.local_usage is not None or self.rise is not None:
            self._complete = everybody
            groups = self.groups if everybody else self.fresh
            self._opened = [self._ranked(group) for group in groups]
            heapify(self._opened)
        elif len(self._active) == len(self._opened):
            return
        for _, _, group in self._opened:
            group.parked = False
        self._active = self._opened.copy()

    def close(self) -> None:
        """As if all had tried in vain; in a strict queue the head has, and nobody else."""
        self._closed = True

    def first(self, group: Group) -> Workload:
        return group.first()[1]

    @property
    def behind_head(self) -> list[Group]:
        """Who is still to be tried in this pass, in no order."""
        return [group for _, _, group in self._active[1:]]

    def head_group(self) -> Group | None:
        return self._active[0][-1] if self._active and not self._closed else None

    def head(self) -> Workload | None:
        return self.first(self._active[0][-1]) if self._active else None

    def head_order(self) -> QueueOrder:
        """The same object as long as the same workload is the head, and stands where it stood."""
        return self._active[0][1]

    def admit_head(self) -> None:
        group = self._active[0][-1]
        self.remove(self.first(group))
        if group:
            heapreplace(self._active, self._ranked(group))
        else:
            heappop(self._active)

    def leaders(self, most: int) -> list[Workload]:
        """The first of those that are alike, in queue order, of all that stand here; of a strict queue
        its head."""
        ranked = nsmallest(1 if self._strict else most, map(self._ranked, self.groups))
        return [self.first(group) for _, _, group in ranked]

    def requeue_head(self, reason: Requeue, flavors_left: bool = False, passes: bool = False) -> bool:
        """Whether the next one may try now. `flavors_left`: the head has not tried all flavors yet.
        `passes`: even of a strict queue (rules/backfill.py)."""
        strategy = QueueingStrategy.BEST_EFFORT_FIFO if passes else self.queue.strategy
        if stays(strategy, reason, flavors_left):
            return False
        heappop(self._active)[-1].parked = True
        return True

    def place(self, workload: Workload) -> tuple[Group, Workload | None]:
        """Its group, and the head that it waits behind; None for a head and for those who tried."""
        if self._closed and self._strict:
            self.open()
        group = self._line(workload.key).by_key[workload.key]
        head = None if self._closed or group.parked else self.head()
        return group, None if head is workload else head

    def _line(self, key: str) -> Line:
        return self._tried if key in self._tried.by_key else self._fresh

    def _ranked(self, group: Group) -> tuple[Fraction | int, QueueOrder, Group]:
        order, workload = group.first()
        if self.rise is not None:
            order = (order[0], order[1] - self.rise(workload), *order[2:])
        used = 0 if self.local_usage is None else self.local_usage.get(workload.local_queue, 0)
        return used, order, group

    def _shape(self, workload: Workload) -> Shape:
        return shape(workload, self.local_usage is not None, self._by_run_time)
