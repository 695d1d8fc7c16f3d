"""Backfill (EASY): workloads may start before a head that waits for room, as long as they do not delay it.

For the head of every queue the shadow time is computed: when it fits at the latest, by the declared run
times of workloads that run. A workload behind it, in its queue or in another one that contends with it, is
admitted only if it ends before, or leaves enough for the head to fit then. So a StrictFIFO queue tries
workloads behind its head, and in a BestEffortFIFO queue they do not starve it.

Heads come by priority and age, whatever they would borrow: each is given what it needs beside all
before it, as if those ran from now on. So no head is delayed by a workload behind it. Workloads that should
have ended by their declaration, or are leaving, count as about to make room. A head that only workloads
without a declared run time could make room for, or that waits for its victims, has no reservation: all is
as without the rule.

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

BLOCKED_HEADS_MAX = 8  # of a BestEffortFIFO queue: the first ones may never fit


@dataclass(frozen=True, slots=True)
class BlockedHead:
    """A workload of the queue at `node` that may have room reserved, and its place among all."""

    workload: Workload
    node: QuotaNode
    order: QueueOrder


@dataclass(frozen=True, slots=True)
class BackfillReservation:
    blocked_head: BlockedHead
    shadow_ms: int
    until_ms: int | None  # the same, unless that is now
    ended: list[Holding]  # by then
    usage: Usage
    placed: tuple[TopologyUsage, ...]
    before: tuple["BackfillReservation", ...]  # those that go before it

    @property
    def note(self) -> WaitNote:
        why = "and room is reserved for it once those that run have ended as they declare"
        return WaitNote(why, self.until_ms)


class Backfill:
    """Reservations of the queues of a contention group; `reserve` is called before every cycle."""

    __slots__ = ("_queues", "_reserved", "_state", "until_ms")

    def __init__(self, state: WorkingState, queues: Sequence[str]) -> None:
        self._state = state
        self._queues = queues
        self._reserved: dict[str, BackfillReservation] = {}  # by queue, in order
        self.until_ms: int | None = None  # when time alone may change them

    def reserve(self, blocked_heads: Iterable[Sequence[Workload]]) -> None:
        """Reserves room for one of the first workloads of each queue: the first that can have a
        reservation."""
        self._reserved.clear()
        running = sorted(self._running(), key=lambda ending: ending[0])
        now_ms = self._state.now_ms
        self.until_ms = next((ends_ms for ends_ms, _ in running if ends_ms > now_ms), None)
        heads = [self._blocked_head(workload) for of_queue in blocked_heads for workload in of_queue]
        for blocked_head in sorted(heads, key=lambda blocked_head: blocked_head.order):
            if blocked_head.node.name not in self._reserved:
                found = self._reservation(blocked_head, running)
                if found is not None:
                    self._reserved[blocked_head.node.name] = found

    def take_over(self, other: "Backfill") -> None:
        """Takes over reservations of another state, to be told until the next ones are made."""
        self._reserved, self.until_ms = dict(other._reserved), other.until_ms

    def reserved(self, queue: str) -> BackfillReservation | None:
        return self._reserved.get(queue)

    def drop_reservation(self, head: Entry) -> None:
        """Drops the reservation of a head that has its quota, or will have that of its victims."""
        found = self._reserved.get(head.queue.name)
        if found is not None and found.blocked_head.workload is head.workload:
            del self._reserved[head.queue.name]

    def ruling(self, head: Entry) -> Ruling:
        """Whether it may start now."""
        order = queue_order(head.ranked)
        run_time_ms = head.workload.run_time_ms
        until_ms: int | None = None
        for reservation in self._reserved.values():
            if reservation.blocked_head.order >= order:
                break
            if run_time_ms is not None and self._state.now_ms + run_time_ms <= reservation.shadow_ms:
                # One that waits for its victims may start too late to end before.
                until_ms = earliest(until_ms, reservation.shadow_ms - run_time_ms + 1)
            elif not self._still_fits(reservation, head):
                return Ruling(_note(reservation, run_time_ms))
        return Ruling(None, until_ms)

    def is_behind_reservation(self, head: Entry) -> bool:
        """Whether one that comes before it is to have its room in this very cycle."""
        order = queue_order(head.ranked)
        return any(not one.ended and one.blocked_head.order < order for one in self._reserved.values())

    def _blocked_head(self, workload: Workload) -> BlockedHead:
        priority_boost = queue_order(workload)
        lifted = priority_boost[1] - self._state.priority_boost(workload, self._state.now_ms)
        order = (priority_boost[0], lifted, *priority_boost[2:])
        return BlockedHead(workload, self._state.tree.queues[workload.cluster_queue], order)

    def _running(self) -> Iterator[tuple[int, Holding]]:
        """When each ends at the latest; without those that declare no run time."""
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
        moments = [self._state.now_ms, *dict.fromkeys(ends_ms for ends_ms, _ in running)]
        first, last = 0, len(moments)
        found: tuple[int, list[Holding], Assignment] | None = None
        while first < last:  # the more have ended, the more fits
            middle = (first + last) // 2 if found else last - 1
            shadow_ms = moments[middle]
            ended = [holding for ends_ms, holding in running if ends_ms <= shadow_ms] if middle else []
            with self._as_of(ended, before):
                assignment = self._assign(blocked_head)
            if assignment.mode is Mode.FIT:
                found, last = (shadow_ms, ended, assignment), middle
            elif found is None:
                return None  # not even when all have ended
            else:
                first = middle + 1
        assert found is not None
        shadow_ms, ended, assignment = found
        until_ms = shadow_ms if shadow_ms > self._state.now_ms else None
        return BackfillReservation(
            blocked_head, shadow_ms, until_ms, ended, assignment.usage, assignment.placed, before
        )

    def _waits_for_something_else(self, blocked_head: BlockedHead) -> bool:
        workload, queue = blocked_head.workload, self._state.queue(blocked_head.node.name)
        if workload.preempting or workload.replaces is not None:
            return True
        if refusal(workload, queue, self._state.snapshot.namespaces) is not None:
            return True
        budgets = self._state.budgets
        if budgets is None:
            return False
        usage = self._assign(blocked_head, empty=True).usage
        note, until_ms = budgets.ruling(blocked_head.node, usage, workload.run_time_ms)
        self.until_ms = earliest(self.until_ms, until_ms)
        return note is not None

    def _still_fits(self, reservation: BackfillReservation, head: Entry) -> bool:
        """Whether the leader of the reservation fits at its shadow time, if the head runs then."""
        gone = [*reservation.ended, *(target.holding for target in head.targets)]
        with self._as_of(gone, reservation.before):
            self._add(head.node, head.usage, head.assignment.placed)
            fits = self._assign(reservation.blocked_head).mode is Mode.FIT
            self._remove(head.node, head.usage, head.assignment.placed)
        return fits

    def _assign(self, blocked_head: BlockedHead, empty: bool = False) -> Assignment:
        flavors = self._state.flavors[blocked_head.node.name]
        return FlavorAssigner(flavors, blocked_head.node, blocked_head.workload, empty=empty).assign()

    @contextmanager
    def _as_of(self, ended: Iterable[Holding], before: Iterable[BackfillReservation]) -> Iterator[None]:
        """When these have ended, and the leaders of these reservations run."""
        holdings = self._state.holdings
        # Since the reservations were made the cycle may have preempted some of them, or admitted a head.
        still = [one for one in ended if holdings[one.node.name].get(one.workload.key) is one]
        runs = [one for one in before if self._reserved.get(one.blocked_head.node.name) is one]
        with self._state.without(dict.fromkeys(still)):
            for one in runs:
                self._add(one.blocked_head.node, one.usage, one.placed)
            yield
            for one in runs:
                self._remove(one.blocked_head.node, one.usage, one.placed)

    def _add(self, node: QuotaNode, usage: Usage, placed: tuple[TopologyUsage, ...]) -> None:
        node.add(usage)
        self._state.topologies().add(placed)

    def _remove(self, node: QuotaNode, usage: Usage, placed: tuple[TopologyUsage, ...]) -> None:
        node.remove(usage)
        self._state.topologies().remove(placed)


def _note(reservation: BackfillReservation, run_time_ms: int | None) -> WaitNote:
    undeclared = ", as it declares no run time" if run_time_ms is None else ""
    why = (
        f"fits, but would delay {reservation.blocked_head.workload.key}, which is ahead of it and has room "
        f"reserved{undeclared}"
    )
    return WaitNote(why, reservation.until_ms, WaitReason.RESERVED)
