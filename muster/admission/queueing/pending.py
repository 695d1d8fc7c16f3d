"""The pending workloads of one active queue, as its cycles take them.

Equivalent workloads form a group; what a cycle finds for one holds for its group. `open` starts a pass: all
are tried again. In the pass heads come in queue order; a head that cannot be admitted is parked with its
group, and the next one is tried, unless the queue is strict.

Between decisions workloads that were tried in vain stay parked (Kueue: inadmissible workloads), so that a
decision can try new ones alone; a strict queue parks none.
"""

from collections.abc import Callable, Iterable, Iterator, KeysView
from fractions import Fraction
from heapq import heapify, heappop, heapreplace, nsmallest
from itertools import chain

from muster.admission.model import ClusterQueue, QueueingStrategy, Workload
from muster.admission.queueing.groups import (
    EquivalenceClass,
    EquivalenceGroup,
    PendingGroups,
    QueueOrder,
    equivalence_class,
    queue_order,
)
from muster.admission.queueing.requeue import RequeueReason, requeues_immediately
from muster.admission.queueing.usage import LocalUsage
from muster.admission.quota.tree import QuotaNode


class PendingQueue:
    """The pending workloads of a queue in queue order. The head stays the head until it is admitted or
    parked."""

    __slots__ = (
        "_active",
        "_by_namespace",
        "_by_run_time",
        "_closed",
        "_complete",
        "_fresh",
        "_opened",
        "_priority_boost",
        "_strict",
        "_tried",
        "local_usage",
        "node",
        "occupied",
        "preemptors",
        "queue",
    )

    def __init__(
        self,
        queue: ClusterQueue,
        node: QuotaNode,
        local_usage: LocalUsage | None = None,
        by_run_time: bool = False,
        priority_boost: Callable[[Workload], int] | None = None,
    ) -> None:
        """`local_usage` counts if the queue's LocalQueues go by what they used. `by_run_time`: workloads
        with different declared run times are not equivalent.
        `priority_boost` is added to a workload's priority while it waits."""
        self.queue = queue
        self.node = node
        self.local_usage = local_usage if queue.usage_based else None
        self._by_run_time = by_run_time
        self._by_namespace = queue.namespaces is not None and bool(queue.namespaces.requirements)
        self._priority_boost = priority_boost
        self._strict = queue.strategy is QueueingStrategy.STRICT_FIFO
        self._fresh = PendingGroups()
        self._tried = PendingGroups()
        # The queues that have workloads, of all that contend: most decisions need to look at no other one.
        self.occupied: dict[PendingQueue, None] = {}
        self.preemptors: dict[str, Workload] = {}  # that wait for their victims to leave, by key
        self._active: list[tuple[Fraction | int, QueueOrder, EquivalenceGroup]] = []  # a heap
        self._opened = self._active  # as it was opened, if it would open the same now
        self._closed = False
        self._complete: bool | None = None  # `include_parked` of that

    def restore_from(self, other: "PendingQueue") -> None:
        """Takes over the workloads of the same queue of another state."""
        self._fresh, self._tried = other._fresh.copy(), other._tried.copy()
        copies = dict(zip(other.groups, self.groups, strict=True))
        # Only its first entry counts until the next `open`; the groups of others may be gone.
        self._active = [(used, order, copies[one]) for used, order, one in other._active if one in copies]
        self._closed = other._closed
        self.preemptors = dict(other.preemptors)
        if len(self):
            self.occupied[self] = None

    def update_objects(self, queue: ClusterQueue, local_usage: LocalUsage) -> None:
        """Takes its queue with other quotas, and recent usage."""
        self.queue = queue
        self.local_usage = local_usage if queue.usage_based else None
        for group in self.groups:
            group.pruning_data = None  # it was computed from the quotas

    def __len__(self) -> int:
        return len(self._fresh.by_key) + len(self._tried.by_key)

    @property
    def groups(self) -> Iterable[EquivalenceGroup]:
        return chain(self._fresh.groups.values(), self._tried.groups.values())

    @property
    def fresh(self) -> Iterable[EquivalenceGroup]:
        """Groups of workloads that are not parked. One that is equivalent to parked ones counts as parked
        itself (Kueue: hashToBulkMoveReason)."""
        tried = self._tried.groups
        if not self._fresh.groups:
            return ()
        return [group for equivalence, group in self._fresh.groups.items() if equivalence not in tried]

    @property
    def parked(self) -> KeysView[str]:
        """Keys of workloads that were tried in vain, and wait until all are tried."""
        return self._tried.by_key.keys()

    def put(self, workload: Workload, tried: bool = False) -> None:
        """Adds a workload; it takes part from the next `open` on. `tried`: it is parked, unless the queue
        parks none."""
        self._changed()
        self.occupied[self] = None
        parked = tried and self._parks(workload)
        order = queue_order(workload, sticky=not self._strict)
        (self._tried if parked else self._fresh).put(self._equivalence(workload), order, workload)
        if workload.preempting:
            self.preemptors[workload.key] = workload

    def _parks(self, workload: Workload) -> bool:
        return not self._strict and not workload.preempting

    def is_parked_as(self, workload: Workload) -> bool:
        """Whether a workload, if it is in this queue, is parked or not as its object says."""
        key, parked = workload.key, workload.parked and self._parks(workload)
        return key not in (self._fresh if parked else self._tried).by_key

    def keys(self) -> Iterator[str]:
        """Yields the keys of all workloads in the queue."""
        yield from self._fresh.by_key
        yield from self._tried.by_key

    def keys_in_order(self) -> list[str]:
        """Returns the keys of all workloads in queue order."""
        ranked = sorted(self._rank(*queued) for group in self.groups for queued in group)
        return [order[-1] for _, order in ranked]

    def remove(self, workload: Workload) -> None:
        """Removes a workload that was put; not between `open` and the end of its pass."""
        self._drop(workload)
        if self._active and self._active[0][1][-1] == workload.key:
            self.close()  # no other one waits behind it any more

    def _drop(self, workload: Workload) -> None:
        self._changed()
        self._line(workload.key).remove(workload.key)
        if workload.preempting:
            del self.preemptors[workload.key]
        if not len(self):
            del self.occupied[self]

    def _changed(self) -> None:
        """Forgets how it would be opened, which refers to workloads that may be gone."""
        self._complete, self._opened = None, []
        if self._closed:
            self._active = []

    def park(self) -> None:
        """Parks all workloads, which have been tried; not between `open` and the end of its pass."""
        if self._strict or not self._fresh.by_key:
            return
        self._changed()
        # Mostly all of them are parked and none was before: nothing needs to be moved one by one.
        if not self._tried.by_key and not self.preemptors:
            self._fresh, self._tried = self._tried, self._fresh
            return
        for group in list(self._fresh.groups.values()):
            if not self.first(group).preempting:
                self._fresh.move(group, self._tried)

    def open(self, include_parked: bool = True) -> None:
        """Starts a pass with all groups, or only with those that are not parked."""
        self._closed = False
        # Recent usage and boosts change with time alone: their order is computed in every pass.
        if (
            self._complete is not include_parked
            or self.local_usage is not None
            or self._priority_boost is not None
        ):
            self._complete = include_parked
            groups = self.groups if include_parked else self.fresh
            self._opened = [self._ranked(group) for group in groups]
            heapify(self._opened)
        elif len(self._active) == len(self._opened):
            return
        for _, _, group in self._opened:
            group.parked = False
        self._active = self._opened.copy()

    def close(self) -> None:
        """Ends the pass as if all had been tried in vain; in a strict queue only the head has."""
        self._closed = True
        if self._complete is None:
            self._active = []

    def first(self, group: EquivalenceGroup) -> Workload:
        return group.first()[1]

    @property
    def behind_head(self) -> list[EquivalenceGroup]:
        """Groups that are still to be tried in this pass, in no order."""
        return [group for _, _, group in self._active[1:]]

    def head_group(self) -> EquivalenceGroup | None:
        return self._active[0][-1] if self._active and not self._closed else None

    def head(self) -> Workload | None:
        return self.first(self._active[0][-1]) if self._active else None

    def head_order(self) -> QueueOrder:
        """The head's order, with its boost."""
        return self._active[0][1]

    def admit_head(self) -> None:
        group = self._active[0][-1]
        self._drop(self.first(group))
        # The group is not parked: its next one needs what was just found to fit, and is tried in this pass.
        if group:
            heapreplace(self._active, self._ranked(group))
        else:
            heappop(self._active)

    def first_workloads(self, most: int) -> list[Workload]:
        """The first workloads of at most so many groups, in queue order; of a strict queue its head."""
        ranked = nsmallest(1 if self._strict else most, map(self._ranked, self.groups))
        return [self.first(group) for _, _, group in ranked]

    def requeue_head(
        self, reason: RequeueReason, pending_flavors: bool = False, passes: bool = False
    ) -> bool:
        """Requeues or parks the head; returns whether the next workload may be tried now.

        `pending_flavors`: the head has not tried all flavors. `passes`: parks it even in a strict queue
        (rules/backfill.py)."""
        strategy = QueueingStrategy.BEST_EFFORT_FIFO if passes else self.queue.strategy
        if requeues_immediately(strategy, reason, pending_flavors):
            return False
        heappop(self._active)[-1].parked = True
        return True

    def place(self, workload: Workload) -> tuple[EquivalenceGroup, Workload | None]:
        """Its group, and the head that it waits behind: None for a head and for workloads that were tried."""
        # A strict queue that was skipped has a head all the same, and the others wait behind it.
        if self._closed and self._strict:
            self.open()
        group = self._line(workload.key).by_key[workload.key]
        head = None if self._closed or group.parked else self.head()
        return group, None if head is workload else head

    def _line(self, key: str) -> PendingGroups:
        return self._tried if key in self._tried.by_key else self._fresh

    def _ranked(self, group: EquivalenceGroup) -> tuple[Fraction | int, QueueOrder, EquivalenceGroup]:
        used, order = self._rank(*group.first())
        return used, order, group

    def _rank(self, order: QueueOrder, workload: Workload) -> tuple[Fraction | int, QueueOrder]:
        if self._priority_boost is not None:
            order = (order[0], order[1] - self._priority_boost(workload), *order[2:])
        used = 0 if self.local_usage is None else self.local_usage.get(workload.local_queue, 0)
        return used, order

    def _equivalence(self, workload: Workload) -> EquivalenceClass:
        return equivalence_class(
            workload, self.local_usage is not None, self._by_run_time, self._by_namespace
        )
