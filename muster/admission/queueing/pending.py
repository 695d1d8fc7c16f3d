"""The pending workloads of an active queue, in the order in which cycles try them.

Equivalent workloads form a group, and a cycle's result for one applies to its group. `open` starts a pass, in
which all workloads are tried again in queue order. A head that is not admitted is parked with its group, and
the next one is tried, unless the queue is strict.

Inadmissible workloads (as Kueue calls them) remain parked between decisions, so a decision can try only new
workloads; a strict queue parks none.
"""

from collections.abc import Callable, Iterable, Iterator, KeysView, Sequence
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
    """The pending workloads of a queue, in queue order. The head remains the head until it is admitted or
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
        """Creates an empty queue. `local_usage` matters only if the queue is usage-based. `by_run_time`:
        workloads with different declared run times are not equivalent. `priority_boost` is added to the
        priority of pending workloads."""
        self.queue = queue
        self.node = node
        self.local_usage = local_usage if queue.usage_based else None
        self._by_run_time = by_run_time
        self._by_namespace = queue.namespaces is not None and bool(queue.namespaces.requirements)
        self._priority_boost = priority_boost
        self._strict = queue.strategy is QueueingStrategy.STRICT_FIFO
        self._fresh = PendingGroups()  # not tried since they were queued
        self._tried = PendingGroups()  # parked: only a release of quota may help them
        # The nonempty queues of the contention group, which shares this: most decisions read only these.
        self.occupied: dict[PendingQueue, None] = {}
        self.preemptors: dict[str, Workload] = {}  # by key; preemption is in progress for them
        # A heap of the groups that this pass has not tried; the first is the head's.
        self._active: list[tuple[Fraction | int, QueueOrder, EquivalenceGroup]] = []
        # The heap of the last `open`, while it is valid: most queues do not change between two passes, so the
        # next `open` copies it instead of ranking all groups again.
        self._opened = self._active
        # No workload is tried until the next `open`. `_active` stays: `place` reads it to explain which
        # workload was the head.
        self._closed = False
        self._complete: bool | None = None  # `include_parked` of that heap; None: invalid

    def restore_from(self, other: "PendingQueue") -> None:
        """Copies the workloads of the same queue of another state."""
        self._fresh, self._tried = other._fresh.copy(), other._tried.copy()
        copies = dict(zip(other.groups, self.groups, strict=True))
        # Until the next `open` only the first entry is used; groups of the others may not exist any more.
        self._active = [
            (used, order, copies[group]) for used, order, group in other._active if group in copies
        ]
        self._closed = other._closed
        self.preemptors = dict(other.preemptors)
        if len(self):
            self.occupied[self] = None

    def update_objects(self, queue: ClusterQueue, local_usage: LocalUsage) -> None:
        """Sets the queue with changed quotas, and recent usage."""
        self.queue = queue
        self.local_usage = local_usage if queue.usage_based else None
        for group in self.groups:
            group.pruning_data = None  # depends on quotas

    def __len__(self) -> int:
        return len(self._fresh.by_key) + len(self._tried.by_key)

    @property
    def groups(self) -> Iterable[EquivalenceGroup]:
        """All groups, fresh and parked."""
        return chain(self._fresh.groups.values(), self._tried.groups.values())

    @property
    def fresh(self) -> Sequence[EquivalenceGroup]:
        """Returns the groups that are not parked. A group that is equivalent to a parked one counts as parked
        (Kueue: hashToBulkMoveReason)."""
        tried = self._tried.groups
        if not self._fresh.groups:
            return ()
        return [group for equivalence, group in self._fresh.groups.items() if equivalence not in tried]

    @property
    def parked(self) -> KeysView[str]:
        """Returns the keys of parked workloads."""
        return self._tried.by_key.keys()

    def put(self, workload: Workload, tried: bool = False) -> None:
        """Adds a workload, which is tried after the next `open`. `tried`: parks it, unless the queue is
        strict."""
        self._invalidate()
        self.occupied[self] = None
        parked = tried and self._parks(workload)
        order = queue_order(workload, sticky=not self._strict)
        (self._tried if parked else self._fresh).put(self._equivalence(workload), order, workload)
        if workload.preempting:
            self.preemptors[workload.key] = workload

    def _parks(self, workload: Workload) -> bool:
        # A strict queue's head must remain the head. A preemptor must be tried as soon as its targets have
        # released their quota, before any other workload takes it.
        return not self._strict and not workload.preempting

    def is_parked_as(self, workload: Workload) -> bool:
        """Returns whether a workload, if it is in this queue, is parked exactly if its object is."""
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
        """Removes a workload; not allowed during a pass."""
        self._drop(workload)
        if self._active and self._active[0][1][-1] == workload.key:
            self.close()  # no workload waits behind it

    def _drop(self, workload: Workload) -> None:
        self._invalidate()
        self._groups_of(workload.key).remove(workload.key)
        if workload.preempting:
            del self.preemptors[workload.key]
        if not len(self):
            del self.occupied[self]

    def _invalidate(self) -> None:
        """Invalidates the heap of the last `open`, which may have removed workloads."""
        self._complete, self._opened = None, []
        if self._closed:
            self._active = []

    def park(self) -> None:
        """Parks all workloads, which have been tried; not allowed during a pass."""
        if self._strict or not self._fresh.by_key:
            return
        self._invalidate()
        # Usually no workload was parked before: swaps instead of moving each group.
        if not self._tried.by_key and not self.preemptors:
            self._fresh, self._tried = self._tried, self._fresh
            return
        for group in list(self._fresh.groups.values()):
            if not self.first(group).preempting:
                self._fresh.move(group, self._tried)

    def open(self, include_parked: bool = True) -> None:
        """Starts a pass with all groups, or without the parked ones."""
        self._closed = False
        # Recent usage and boosts change with time, so each pass sorts by them again.
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
            group.parked = group.waits = False
        self._active = self._opened.copy()

    def close(self) -> None:
        """Ends the pass as if no workload fitted; in a strict queue only the head counts as tried."""
        self._closed = True
        if self._complete is None:
            self._active = []

    def first(self, group: EquivalenceGroup) -> Workload:
        """Returns the first workload of a group."""
        return group.first()[1]

    @property
    def behind_head(self) -> list[EquivalenceGroup]:
        """Returns the groups behind the head that this pass has not tried, in arbitrary order."""
        return [group for _, _, group in self._active[1:]]

    def head_group(self) -> EquivalenceGroup | None:
        """Returns the group of the head; None if the queue is closed or all groups were tried."""
        return self._active[0][-1] if self._active and not self._closed else None

    def head(self) -> Workload | None:
        """Returns the workload that the next cycle tries, if any."""
        return self.first(self._active[0][-1]) if self._active else None

    def head_copies(self) -> int:
        """Returns the number of workloads that are equivalent to the head, with itself."""
        return len(self._active[0][-1])

    def head_order(self) -> QueueOrder:
        """Returns the head's order, including its boost."""
        return self._active[0][1]

    def admit_head(self) -> None:
        """Removes the head after its admission."""
        group = self._active[0][-1]
        self._drop(self.first(group))
        # The group is not parked: its next workload has the requests that just fitted, and is tried in this
        # pass.
        if group:
            heapreplace(self._active, self._ranked(group))
        else:
            heappop(self._active)

    def first_workloads(self, groups_max: int) -> list[Workload]:
        """Returns the first workloads of up to `groups_max` groups, in queue order; only the head of a strict
        queue."""
        ranked = nsmallest(1 if self._strict else groups_max, map(self._ranked, self.groups))
        return [self.first(group) for _, _, group in ranked]

    def requeue_head(
        self, reason: RequeueReason, pending_flavors: bool = False, passes: bool = False, parks: bool = False
    ) -> bool:
        """Requeues or parks the head; returns whether the next workload may be tried now.

        `pending_flavors`: the head has not tried all flavors. `passes`: parks it even in a strict queue
        (rules/backfill.py). `parks`: parks it unless the queue is strict, as others can't take its claims
        (cycle/pending_claims.py)."""
        strategy = QueueingStrategy.BEST_EFFORT_FIFO if passes else self.queue.strategy
        stays = requeues_immediately(strategy, reason, pending_flavors)
        if stays and not (parks and strategy is QueueingStrategy.BEST_EFFORT_FIFO):
            return False
        group = heappop(self._active)[-1]
        group.parked, group.waits = True, stays
        return True

    def place(self, workload: Workload) -> tuple[EquivalenceGroup, Workload | None]:
        """Returns a workload's group, and the head that blocks it (None for heads and tried workloads)."""
        # The head of a strict queue also blocks if the queue was skipped.
        if self._closed and self._strict:
            self.open()
        group = self._groups_of(workload.key).by_key[workload.key]
        if group.waits:
            head: Workload | None = self.first(group)
        else:
            head = None if self._closed or group.parked else self.head()
        return group, None if head is workload else head

    def _groups_of(self, key: str) -> PendingGroups:
        return self._tried if key in self._tried.by_key else self._fresh

    def _ranked(self, group: EquivalenceGroup) -> tuple[Fraction | int, QueueOrder, EquivalenceGroup]:
        used, order = self._rank(*group.first())
        return used, order, group

    def _rank(self, order: QueueOrder, workload: Workload) -> tuple[Fraction | int, QueueOrder]:
        if self._priority_boost is not None:
            order = (order[0], order[1] - 2 * self._priority_boost(workload), *order[2:])
        used = 0 if self.local_usage is None else self.local_usage.get(workload.local_queue, 0)
        return used, order

    def _equivalence(self, workload: Workload) -> EquivalenceClass:
        return equivalence_class(
            workload, self.local_usage is not None, self._by_run_time, self._by_namespace
        )
