"""Whose heads take part in a cycle: those that could be let in, and those that keep something from others."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace

from muster.admission.cycle.order import CycleOrder, cycle_order
from muster.admission.engine.openings import Openings
from muster.admission.engine.prospects import Outlook, Prospect
from muster.admission.model import PreemptionPolicy
from muster.admission.queueing.groups import Group
from muster.admission.queueing.pending import PendingQueue
from muster.admission.queueing.requeue import Requeue
from muster.admission.state.state import WorkingState

IsPassed = Callable[[PendingQueue], bool]
Head = tuple[PendingQueue, Prospect, Outlook]
Ranked = tuple[CycleOrder, PendingQueue, Prospect]


class Turns:
    """Of the queues of an arena, by name."""

    __slots__ = ("_are_plain", "_keeping", "_place", "_queues", "_state", "openings")

    def __init__(self, state: WorkingState, queues: Mapping[str, PendingQueue]) -> None:
        self._state = state
        self._queues = queues
        self._keeping = dict.fromkeys(queue for queue in queues.values() if _keeps(queue, state))
        self._are_plain = _are_plain(state)
        self._place = cycle_order(state.rules)
        self.openings = Openings(state, queues)

    @property
    def keep(self) -> bool:
        """Whether a head that is not let in may keep quota from others for a cycle."""
        return bool(self._keeping)

    def worth_opening(self, everybody: bool) -> list[PendingQueue]:
        """The queues with somebody who could be let in. Where there is one, those that may keep
        something from others by trying in vain are open too. All others are passed over."""
        possible = self.openings.possible()
        if self._keeping or not everybody:
            hopeful = [queue for queue in possible if self._is_hopeful(queue, everybody)]
            possible = dict.fromkeys(hopeful) | self._keeping if hopeful else {}
        opened = []
        for queue in self._queues.values():
            if queue in possible:
                opened.append(queue)
            else:
                queue.close()
        return opened

    def _is_hopeful(self, queue: PendingQueue, everybody: bool) -> bool:
        return self.openings.has_somebody(queue) if everybody else self._has_hope(queue, queue.fresh)

    def _has_hope(self, queue: PendingQueue, groups: Iterable[Group]) -> bool:
        prospect = self.openings.prospect
        for group in groups:  # noqa: SIM110 - a generator is slow, and this is asked of most queues
            if prospect(queue, group).outlook() is not Outlook.HOPELESS:
                return True
        return False

    def take(self, opened: list[PendingQueue], is_passed: IsPassed) -> tuple[list[Head], bool]:
        """The heads of a cycle, and whether others may try now.

        A head that can not be had is parked at once, unless it keeps something from others, or tries
        its flavors over some cycles, in which others have their turns. Where nobody behind it can be had
        either, the queue is closed, and leaves `opened`."""
        heads, hopeless, done = self._heads(opened)
        to_keep_from, moved = bool(heads), False
        for head in hopeless:
            queue, prospect, _ = head
            keeps = queue in self._keeping
            followed = keeps or self._has_hope(queue, queue.behind_head)
            if (keeps and to_keep_from) or (followed and not prospect.tries_once):
                heads.append(head)
            elif followed:
                moved |= queue.requeue_head(Requeue.NO_FIT, passes=is_passed(queue))
            else:
                queue.close()
                done.add(queue)
                self.openings.has_somebody(queue)  # if not it is not possible from now on
        if done:
            opened[:] = [queue for queue in opened if queue not in done]
        return heads, moved

    def _heads(self, opened: Iterable[PendingQueue]) -> tuple[list[Head], list[Head], set[PendingQueue]]:
        """Those that could be had, the others, and the queues in which all have tried or nobody could be
        had."""
        heads: list[Head] = []
        hopeless: list[Head] = []
        done: set[PendingQueue] = set()
        possible = self.openings.possible()
        for queue in opened:
            group = queue.head_group()
            if group is None:
                done.add(queue)
                if queue in possible:
                    self.openings.has_somebody(queue)
            elif queue in possible or queue in self._keeping:
                prospect = self.openings.prospect(queue, group)
                outlook = prospect.outlook() if queue in possible else Outlook.HOPELESS
                (hopeless if outlook is Outlook.HOPELESS else heads).append((queue, prospect, outlook))
            else:
                queue.close()
                done.add(queue)
        return heads, hopeless, done

    def plain(self, heads: Iterable[Head], waiting: Container[str]) -> list[Ranked] | None:
        """By their places in the cycle, if each head is let in unless somebody takes its room before its
        turn, and nothing else counts; None if not. `waiting` are the keys of those who wait for victims.

        Then whoever comes too late need not be looked at: the next cycle finds it without prospects."""
        if not self._are_plain:
            return None
        ranked: list[Ranked] = []
        for queue, prospect, outlook in heads:
            if outlook is not Outlook.FITS or not prospect.is_plain:
                return None
            ranked.append((self._place_of(queue, prospect, waiting), queue, prospect))
        ranked.sort(key=_by_place)
        return ranked

    def _place_of(self, queue: PendingQueue, prospect: Prospect, waiting: Container[str]) -> CycleOrder:
        order = queue.head_order()
        known, waits = prospect.place, order[-1] in waiting
        if known is not None and known[0] is order and not waits:
            return known[1]
        workload = queue.head()
        assert workload is not None
        risen, preempting = self._state.rise_now(workload), waits or workload.preempting
        standing = replace(workload, priority=workload.priority + risen) if risen else workload
        place = self._place(standing, preempting, prospect.borrowing())
        prospect.place = None if risen or preempting else (order, place)
        return place


def _by_place(ranked: Ranked) -> CycleOrder:
    return ranked[0]


def _are_plain(state: WorkingState) -> bool:
    """Whether the order of heads is known before the first is let in, and whoever has room is let in."""
    rules = state.rules
    return rules.fair_sharing is None and not rules.backfill and state.budgets is None


def _keeps(queue: PendingQueue, state: WorkingState) -> bool:
    """Whether a head that could be had by preemption only, but finds no victims, keeps quota from
    others until the end of the cycle (Cycle._reserve_unreclaimable)."""
    reclaims = queue.queue.reclaim_within_cohort is PreemptionPolicy.ANY
    return not reclaims or state.rules.prioritize_preemptors
