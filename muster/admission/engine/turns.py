"""Whose heads take part in a cycle: those that could be let in, and those that keep something from others."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from muster.admission.cycle.order import CycleOrder, cycle_order
from muster.admission.engine.prospects import Prospect
from muster.admission.model import PreemptionPolicy, Workload
from muster.admission.queueing.groups import Group
from muster.admission.queueing.pending import PendingQueue
from muster.admission.queueing.requeue import Requeue
from muster.admission.state.state import WorkingState


class Turns:
    """Of the queues of an arena, by name."""

    __slots__ = ("_are_plain", "_keeping", "_queues", "_state")

    def __init__(self, state: WorkingState, queues: Mapping[str, PendingQueue]) -> None:
        self._state = state
        self._queues = queues
        self._keeping = {name: queue for name, queue in queues.items() if _keeps(queue, state)}
        self._are_plain = _are_plain(state)

    def worth_opening(self, candidates: Iterable[str], everybody: bool) -> dict[str, PendingQueue]:
        """The queues with somebody who could be let in. Where there is one, those that may keep
        something from others by trying in vain are open too. All others are passed over."""
        hopeful = {}
        for name in sorted(candidates):
            queue = self._queues[name]
            if any(self._is_hopeful(queue, group) for group in (queue.groups if everybody else queue.fresh)):
                hopeful[name] = queue
            else:
                queue.close()
        return hopeful | self._keeping if hopeful else {}

    def take(
        self, queues: Iterable[PendingQueue], is_passed: Callable[[PendingQueue], bool]
    ) -> tuple[list[PendingQueue], bool]:
        """Those with the heads of a cycle, and whether others may try now. A head that can not be had is
        parked, unless it keeps something; where nobody behind it can be had either, the queue is closed."""
        heads: list[PendingQueue] = []
        hopeless: list[PendingQueue] = []
        for queue in queues:
            group = queue.head_group()
            if group is not None:
                (heads if self._is_hopeful(queue, group) else hopeless).append(queue)
        to_keep_from, moved = bool(heads), False
        for queue in hopeless:
            keeps = queue.queue.name in self._keeping
            if keeps and to_keep_from:
                heads.append(queue)
            elif keeps or any(self._is_hopeful(queue, group) for group in queue.behind_head):
                moved |= queue.requeue_head(Requeue.NO_FIT, passes=is_passed(queue))
            else:
                queue.close()
        return heads, moved

    def are_plain(self, queues: Iterable[PendingQueue]) -> bool:
        """Whether each head is let in, if nobody takes its room before its turn, and nothing else counts.

        Then whoever comes too late need not be looked at: the next cycle finds it without prospects."""
        if not self._are_plain:
            return False
        for queue in queues:
            prospect = self.prospect_of_head(queue)
            if not (prospect.is_plain and prospect.fits()):
                return False
        return True

    def in_order(
        self, queues: Iterable[PendingQueue], preempts: Callable[[Workload], bool]
    ) -> Iterator[PendingQueue]:
        """Of heads that are plain: by their places in the cycle, those for whom others leave room."""
        place, state = cycle_order(self._state.rules), self._state
        ranked: list[tuple[CycleOrder, PendingQueue, Prospect]] = []
        for queue in queues:
            workload, prospect = queue.head(), self.prospect_of_head(queue)
            assert workload is not None
            risen = state.rise_now(workload)
            standing = replace(workload, priority=workload.priority + risen) if risen else workload
            ranked.append((place(standing, preempts(workload), prospect.borrowing), queue, prospect))
        ranked.sort(key=lambda one: one[0])
        for _, queue, prospect in ranked:
            if prospect.fits():
                yield queue

    def prospect_of_head(self, queue: PendingQueue) -> Prospect:
        group = queue.head_group()
        assert group is not None
        return self._prospect(queue, group)

    def _is_hopeful(self, queue: PendingQueue, group: Group) -> bool:
        return self._prospect(queue, group).worth_a_try()

    def _prospect(self, queue: PendingQueue, group: Group) -> Prospect:
        prospect: Prospect | None = group.prospect
        if prospect is None:
            prospect = group.prospect = Prospect(self._state, queue.node, queue.first(group))
        return prospect


def _are_plain(state: WorkingState) -> bool:
    """Whether the order of heads is known before the first is let in, and whoever has room is let in."""
    rules = state.rules
    return rules.fair_sharing is None and not rules.backfill and state.budgets is None


def _keeps(queue: PendingQueue, state: WorkingState) -> bool:
    """Whether a head that could be had by preemption only, but finds no victims, keeps quota from
    others until the end of the cycle (Cycle._reserve_unreclaimable)."""
    reclaims = queue.queue.reclaim_within_cohort is PreemptionPolicy.ANY
    return not reclaims or state.rules.prioritize_preemptors
