"""Which heads take part in a cycle: those that may be admitted, and those that keep quota from others."""

from collections.abc import Callable, Container, Iterable, Mapping

from muster.admission.cycle.entry import CycleOrder, Entry, cycle_order
from muster.admission.flavors.attempts import ScanProgress
from muster.admission.model import PreemptionPolicy
from muster.admission.pruning.protocol import Estimate, GroupEstimate, Pruning
from muster.admission.queueing.groups import EquivalenceGroup
from muster.admission.queueing.pending import PendingQueue
from muster.admission.queueing.requeue import RequeueReason
from muster.admission.state.state import WorkingState

IsPassed = Callable[[PendingQueue], bool]
Head = tuple[PendingQueue, GroupEstimate, Estimate]


class HeadSelector:
    """Selects heads of the queues of a contention group, which are given by name."""

    __slots__ = (
        "_keeping",
        "_occupied",
        "_positions",
        "_room_may_decide",
        "_rules",
        "pruning",
    )

    def __init__(
        self,
        state: WorkingState,
        queues: Mapping[str, PendingQueue],
        occupied: Mapping[PendingQueue, None],
        pruning: type[Pruning],
    ) -> None:
        """`occupied` are those of the queues that have workloads, as they change."""
        self._occupied = occupied
        self._positions = {queue: position for position, queue in enumerate(queues.values())}
        self._keeping = dict.fromkeys(queue for queue in queues.values() if _keeps(queue, state))
        self._room_may_decide = _room_may_decide(state)
        self._rules = state.rules
        self.pruning = pruning(state, queues)

    @property
    def keep_quota(self) -> bool:
        """Whether a head that is not admitted may keep quota from others for a cycle."""
        return bool(self._keeping)

    def queues_to_open(self, include_parked: bool) -> list[PendingQueue]:
        """Returns the queues with a workload that may be admitted and closes the others. Where there is one,
        queues whose heads may keep quota from others in vain are opened too."""
        possible = self.pruning.possible()
        if self._keeping or not include_parked:
            possible = {queue: None for queue in possible if self._is_feasible(queue, include_parked)}
        # Quota that is kept matters only to a workload that could have it.
        keeping = self._keeping if possible else {}
        opened = []
        for queue in self._occupied:
            if queue in possible or queue in keeping:
                opened.append(queue)
            else:
                queue.close()
        # What a cycle does with its heads is recorded in the order of their queues.
        opened.sort(key=self._positions.__getitem__)
        return opened

    def _is_feasible(self, queue: PendingQueue, include_parked: bool) -> bool:
        # Asked of all groups first, as the answer no is remembered: mostly all are tried a moment later.
        return self.pruning.has_candidate(queue) and (
            include_parked or self._has_feasible(queue, queue.fresh)
        )

    def _has_feasible(self, queue: PendingQueue, groups: Iterable[EquivalenceGroup]) -> bool:
        feasibility = self.pruning.feasibility
        for group in groups:  # noqa: SIM110 - a generator is slow, and this runs for most queues
            if feasibility(queue, group).estimate() is not Estimate.INFEASIBLE:
                return True
        return False

    def take(self, opened: list[PendingQueue], is_passed: IsPassed) -> tuple[list[Head], bool]:
        """Returns the heads of a cycle, and whether other workloads may be tried after it.

        An infeasible head is parked at once, unless it keeps quota from others, or tries its flavors over
        several cycles, in which other queues' heads are tried too. Where no workload behind it need be tried
        either, the queue is closed and removed from `opened`."""
        heads, infeasible, done = self._heads(opened)
        to_keep_from, moved = bool(heads), False
        to_follow = self._to_follow(infeasible, to_keep_from) if infeasible else set()
        for head in infeasible:
            queue, feasibility, _ = head
            keeps, followed = queue in self._keeping, queue in to_follow
            # With several flavors a scan takes several cycles. To park the head at once would let those
            # behind it go a cycle earlier than in Kueue, before other queues' heads.
            if (keeps and to_keep_from) or (followed and not feasibility.tries_once):
                heads.append(head)
            elif followed:
                moved |= queue.requeue_head(RequeueReason.NO_FIT, passes=is_passed(queue))
            else:
                queue.close()
                done.add(queue)
                self.pruning.has_candidate(queue)  # if not, it is not possible from now on
        if done:
            opened[:] = [queue for queue in opened if queue not in done]
        return heads, moved

    def _to_follow(self, infeasible: Iterable[Head], to_keep_from: bool) -> set[PendingQueue]:
        """Returns the queues in which workloads behind these heads are to be tried: those that may be
        admitted, and those that keep quota from any that may be."""
        keeping = {queue for queue, _, _ in infeasible if queue in self._keeping}
        feasible = {
            queue
            for queue, _, _ in infeasible
            if not (to_keep_from and queue in keeping) and self._has_feasible(queue, queue.behind_head)
        }
        return feasible | keeping if to_keep_from or feasible else feasible

    def _heads(self, opened: Iterable[PendingQueue]) -> tuple[list[Head], list[Head], set[PendingQueue]]:
        """Returns the feasible heads, the others, and the queues in which all were tried or none is
        feasible."""
        heads: list[Head] = []
        infeasible: list[Head] = []
        done: set[PendingQueue] = set()
        possible = self.pruning.possible()
        for queue in opened:
            group = queue.head_group()
            is_possible = queue in possible
            if group is None:
                done.add(queue)
                if is_possible:
                    self.pruning.has_candidate(queue)
            elif is_possible or queue in self._keeping:
                feasibility = self.pruning.feasibility(queue, group)
                estimate = feasibility.estimate() if is_possible else Estimate.INFEASIBLE
                taken = infeasible if estimate is Estimate.INFEASIBLE else heads
                taken.append((queue, feasibility, estimate))
            else:
                queue.close()
                done.add(queue)
        return heads, infeasible, done

    def decided_by_room(self, heads: list[Head], waiting: Container[str]) -> list[Head] | None:
        """Returns the heads in the cycle's order, if room alone decides over each of them; None if not.
        `waiting` are the keys of workloads that wait for victims.

        Heads whose room others take before them then need no nomination: the next cycle finds them
        infeasible."""
        if not self._room_may_decide:
            return None
        for _, feasibility, estimate in heads:
            if estimate is not Estimate.FITS or not feasibility.room_decides:
                return None
        if len(heads) == 1:
            return heads
        places = [self._place_of(queue, feasibility, waiting) for queue, feasibility, _ in heads]
        return [heads[index] for index in sorted(range(len(heads)), key=places.__getitem__)]

    def _place_of(
        self, queue: PendingQueue, feasibility: GroupEstimate, waiting: Container[str]
    ) -> CycleOrder:
        order = queue.head_order()
        preempting = order[-1] in waiting or order[-1] in queue.preemptors
        return cycle_order(self._rules, order, False, preempting, feasibility.borrowing())


def _room_may_decide(state: WorkingState) -> bool:
    """Whether the order of heads is known before the first is admitted, and room alone decides."""
    rules = state.rules
    return rules.fair_sharing is None and not rules.backfill and state.budgets is None


def _keeps(queue: PendingQueue, state: WorkingState) -> bool:
    """Whether a head that needs preemption but finds no victims keeps quota from
    others until the end of the cycle (Cycle._reserve_unreclaimable)."""
    reclaims = queue.queue.reclaim_within_cohort is PreemptionPolicy.ANY
    return not reclaims or state.rules.prioritize_preemptors


SCANS_MAX = 32  # cycles in which a head tries its flavors while nothing changes
_OVER = ScanProgress()  # all flavors have been tried


class FlavorScans:
    """The flavor scans of the heads of a pass since the last change."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[str, list[ScanProgress]] = {}

    def clear(self) -> None:
        self._by_key.clear()

    def continues(self, head: Entry) -> bool:
        """Whether the next cycle tries the head's other flavors. Once it has tried all of them, or its pod
        sets are back where a scan ended before, only a change can help: otherwise heads could alternate for
        ever."""
        scans = self._by_key.setdefault(head.workload.key, [])
        progress = _OVER if head.scan is None else head.scan.progress
        new = progress not in scans and _OVER not in scans
        continues = progress.pending and new and len(scans) < SCANS_MAX
        scans.append(progress if continues else _OVER)
        return continues
