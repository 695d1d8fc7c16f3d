"""Backfill (EASY): workloads may start before a head that waits for quota if they do not delay it.

For the head of every queue the shadow time is computed: the latest time at which it fits, from the declared
run times of running workloads. A workload behind it, in its queue or in a contending queue, is admitted only
if it ends before that time, or the head would still fit then. So a StrictFIFO queue tries workloads behind
its head, and workloads in a BestEffortFIFO queue do not starve their head.

Heads are ordered by priority and age, regardless of borrowing. Each gets a reservation as if all earlier
heads were running, so no workload delays a head before it. Evicted workloads, and workloads that exceed
their declared run time, count as about to release their quota. A head has no reservation if it could fit only
after workloads without a declared run time end, or if it waits for preemption targets: then the rule does
not apply.

Source: D. Lifka, The ANL/IBM SP scheduling system, 1995 (EASY).
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from muster.admission.cycle.entry import Entry
from muster.admission.cycle.nominate import refusal
from muster.admission.flavors.assigner import FlavorAssigner
from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.fungibility import Mode
from muster.admission.model import WaitReason, Workload
from muster.admission.queueing.groups import QueueOrder, queue_order
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState
from muster.admission.topology import TopologyUsage
from muster.admission.wait_note import Ruling, WaitNote, earliest

BLOCKED_HEADS_MAX = 8  # per BestEffortFIFO queue, as the first workloads may never fit


@dataclass(frozen=True, slots=True)
class BlockedHead:
    """A workload of the queue at `node` that may get a reservation, and its order among all heads."""

    workload: Workload
    node: QuotaNode
    order: QueueOrder


@dataclass(frozen=True, slots=True)
class BackfillReservation:
    """The reservation of a blocked head: the time at which it fits, and the quota that it then needs."""

    blocked_head: BlockedHead
    shadow_ms: int
    until_ms: int | None  # the shadow time; None if that is now
    ended: list[Holding]  # workloads that end by the shadow time
    usage: Usage
    placed: tuple[TopologyUsage, ...]
    before: tuple["BackfillReservation", ...]  # reservations with precedence

    @property
    def note(self) -> WaitNote:
        """The explanation for the workload that the reservation is for."""
        why = "and quota is reserved for it at the declared end of running workloads"
        return WaitNote(why, self.until_ms)


class Backfill:
    """The reservations of a contention group; the engine calls `reserve` before every cycle."""

    __slots__ = ("_queues", "_reserved", "_state", "until_ms")

    def __init__(self, state: WorkingState, queues: Sequence[str]) -> None:
        self._state = state
        self._queues = queues
        self._reserved: dict[str, BackfillReservation] = {}  # by queue, in order
        self.until_ms: int | None = None  # when they may change without other events

    def reserve(self, blocked_heads: Iterable[Sequence[Workload]]) -> None:
        """Reserves quota for the first workload of each queue that can have a reservation."""
        self._reserved.clear()
        running = sorted(self._running(), key=lambda ending: ending[0])
        now_ms = self._state.now_ms
        self.until_ms = next((ends_ms for ends_ms, _ in running if ends_ms > now_ms), None)
        heads = [self._blocked_head(workload) for workloads in blocked_heads for workload in workloads]
        for blocked_head in sorted(heads, key=lambda blocked_head: blocked_head.order):
            if blocked_head.node.name not in self._reserved:
                reservation = self._reservation(blocked_head, running)
                if reservation is not None:
                    self._reserved[blocked_head.node.name] = reservation

    def restore_from(self, other: "Backfill") -> None:
        """Copies the reservations of another state, for explanations until the next `reserve`."""
        self._reserved, self.until_ms = dict(other._reserved), other.until_ms

    def reserved(self, queue: str) -> BackfillReservation | None:
        """Returns the reservation of the queue's head, if it has one."""
        return self._reserved.get(queue)

    def drop_reservation(self, head: Entry) -> None:
        """Drops the reservation of a head that was admitted or has targets."""
        reservation = self._reserved.get(head.queue.name)
        if reservation is not None and reservation.blocked_head.workload is head.workload:
            del self._reserved[head.queue.name]

    def ruling(self, head: Entry) -> Ruling:
        """Returns whether the head may start now."""
        order = queue_order(head.ranked)
        run_time_ms = head.workload.run_time_ms
        until_ms: int | None = None
        for reservation in self._reserved.values():
            if reservation.blocked_head.order >= order:
                break
            if run_time_ms is not None and self._state.now_ms + run_time_ms <= reservation.shadow_ms:
                # If the head waits for targets, it may start too late to end before the shadow time.
                until_ms = earliest(until_ms, reservation.shadow_ms - run_time_ms + 1)
            elif not self._still_fits(reservation, head):
                return Ruling(_note(reservation, run_time_ms))
        return Ruling(None, until_ms)

    def is_behind_reservation(self, head: Entry) -> bool:
        """Returns whether a head with precedence has a reservation for this cycle."""
        order = queue_order(head.ranked)
        return any(
            not reservation.ended and reservation.blocked_head.order < order
            for reservation in self._reserved.values()
        )

    def _blocked_head(self, workload: Workload) -> BlockedHead:
        not_sticky, priority_below, queued_at_ms, uid, key = queue_order(workload)
        boosted = priority_below - 2 * self._state.priority_boost(workload, self._state.now_ms)
        order = not_sticky, boosted, queued_at_ms, uid, key
        return BlockedHead(workload, self._state.tree.queues[workload.cluster_queue], order)

    def _running(self) -> Iterator[tuple[int, Holding]]:
        """Yields the latest end of each running workload that declares its run time."""
        now_ms = self._state.now_ms
        for name in self._queues:
            for holding in self._state.holdings[name].values():
                run_time_ms = holding.workload.run_time_ms
                if holding.evicted:
                    yield now_ms, holding
                elif run_time_ms is not None:
                    yield max(now_ms, holding.reserved_at_ms + run_time_ms), holding

    def _reservation(
        self, blocked_head: BlockedHead, running: Sequence[tuple[int, Holding]]
    ) -> BackfillReservation | None:
        if self._waits_for_something_else(blocked_head):
            return None
        before = tuple(self._reserved.values())
        times_ms = [self._state.now_ms, *dict.fromkeys(ends_ms for ends_ms, _ in running)]
        first, last = 0, len(times_ms)
        earliest_fit: tuple[int, list[Holding], Assignment] | None = None
        while first < last:  # bisection: what fits at a time also fits later
            middle = (first + last) // 2 if earliest_fit else last - 1
            shadow_ms = times_ms[middle]
            ended = [holding for ends_ms, holding in running if ends_ms <= shadow_ms] if middle else []
            with self._as_of(ended, before):
                assignment = self._assign(blocked_head)
            if assignment.mode is Mode.FIT:
                earliest_fit, last = (shadow_ms, ended, assignment), middle
            elif earliest_fit is None:
                return None  # it does not fit even after all have ended
            else:
                first = middle + 1
        assert earliest_fit is not None
        shadow_ms, ended, assignment = earliest_fit
        until_ms = shadow_ms if shadow_ms > self._state.now_ms else None
        return BackfillReservation(
            blocked_head, shadow_ms, until_ms, ended, assignment.usage, assignment.placed, before
        )

    def _waits_for_something_else(self, blocked_head: BlockedHead) -> bool:
        workload, queue = blocked_head.workload, self._state.queue(blocked_head.node.name)
        # Growth takes what is free: it delays no other workload.
        if workload.preempting or workload.replaces is not None or workload.surplus_of:
            return True
        if refusal(self._state, workload, queue) is not None:
            return True
        budgets = self._state.budgets
        if budgets is None:
            return False
        usage = self._assign(blocked_head, empty=True).usage
        note, until_ms = budgets.ruling(blocked_head.node, usage, workload.run_time_ms)
        self.until_ms = earliest(self.until_ms, until_ms)
        return note is not None

    def _still_fits(self, reservation: BackfillReservation, head: Entry) -> bool:
        """Returns whether the blocked head of the reservation fits at its shadow time if `head` runs then."""
        released = [*reservation.ended, *(target.holding for target in head.targets)]
        with self._as_of(released, reservation.before):
            self._add(head.node, head.usage, head.assignment.placed)
            fits = self._assign(reservation.blocked_head).mode is Mode.FIT
            self._remove(head.node, head.usage, head.assignment.placed)
        return fits

    def _assign(self, blocked_head: BlockedHead, empty: bool = False) -> Assignment:
        flavors = self._state.flavors[blocked_head.node.name]
        return FlavorAssigner(flavors, blocked_head.node, blocked_head.workload, empty=empty).assign()

    @contextmanager
    def _as_of(self, ended: Iterable[Holding], before: Iterable[BackfillReservation]) -> Iterator[None]:
        """Simulates the state after these workloads have ended and the heads of these reservations run."""
        holdings = self._state.holdings
        # The cycle may have preempted workloads or admitted heads since `reserve`.
        running = [
            holding for holding in ended if holdings[holding.node.name].get(holding.workload.key) is holding
        ]
        active = [
            reservation
            for reservation in before
            if self._reserved.get(reservation.blocked_head.node.name) is reservation
        ]
        with self._state.without(dict.fromkeys(running)):
            for reservation in active:
                self._add(reservation.blocked_head.node, reservation.usage, reservation.placed)
            yield
            for reservation in active:
                self._remove(reservation.blocked_head.node, reservation.usage, reservation.placed)

    def _add(self, node: QuotaNode, usage: Usage, placed: tuple[TopologyUsage, ...]) -> None:
        node.add(usage)
        self._state.topologies().add(placed)

    def _remove(self, node: QuotaNode, usage: Usage, placed: tuple[TopologyUsage, ...]) -> None:
        node.remove(usage)
        self._state.topologies().remove(placed)


def _note(reservation: BackfillReservation, run_time_ms: int | None) -> WaitNote:
    undeclared = "declares no run time and " if run_time_ms is None else ""
    why = (
        f"fits, but {undeclared}would delay {reservation.blocked_head.workload.key}, which is ahead of it "
        "and has a reservation"
    )
    return WaitNote(why, reservation.until_ms, WaitReason.RESERVED)
