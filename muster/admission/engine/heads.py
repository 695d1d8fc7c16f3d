"""Selects the heads of a cycle: heads that may be admitted, and heads that reserve quota.

Every head that is selected costs a nomination, and in a busy cluster most heads cannot be admitted. Pruning
finds these without a nomination. An infeasible head is nevertheless selected if it changes other decisions:
it reserves quota that another head could use, or its queue would otherwise advance faster than in Kueue.
"""

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
    """Selects the heads of the queues of a contention group."""

    __slots__ = (
        "_may_admit_in_order",
        "_occupied",
        "_positions",
        "_reserving",
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
        """`queues` are by name; `occupied` has the queues with pending workloads; the queues update it."""
        self._occupied = occupied
        # Of all queues, not only of the occupied ones: the order must not depend on when a queue was filled.
        self._positions = {queue: position for position, queue in enumerate(queues.values())}
        # Their infeasible heads are tried too: such a head takes quota from the other heads of its cycle.
        self._reserving = dict.fromkeys(queue for queue in queues.values() if _may_reserve(queue, state))
        self._may_admit_in_order = _may_admit_in_order(state)
        self._rules = state.rules
        self.pruning = pruning(state, queues)

    @property
    def may_reserve_quota(self) -> bool:
        """True if a head that is not admitted may reserve quota for a cycle."""
        return bool(self._reserving)

    def queues_to_open(self, include_parked: bool) -> list[PendingQueue]:
        """Returns the queues with a workload that may be admitted, and closes the others. If there is any,
        returns also queues whose heads may reserve quota although they cannot be admitted."""
        possible = self.pruning.possible()
        # `possible` is a superset, which needs no check of a workload. The exact check pays only if the
        # result is used: to omit reservations, or to skip queues whose feasible workloads are all parked.
        if self._reserving or not include_parked:
            possible = {queue: None for queue in possible if self._is_feasible(queue, include_parked)}
        # Reservations matter only if another workload could use that quota.
        reserving = self._reserving if possible else {}
        opened = []
        for queue in self._occupied:
            if queue in possible or queue in reserving:
                opened.append(queue)
            else:
                queue.close()
        # A cycle records its results in the order of the queues.
        if len(opened) > 1:
            opened.sort(key=self._positions.__getitem__)
        return opened

    def _is_feasible(self, queue: PendingQueue, include_parked: bool) -> bool:
        # All groups are checked first, as a negative result is cached; usually all are tried shortly after.
        if include_parked:
            return self.pruning.has_candidate(queue)
        fresh = queue.fresh
        return bool(fresh) and self.pruning.has_candidate(queue) and self._has_feasible(queue, fresh)

    def _has_feasible(self, queue: PendingQueue, groups: Iterable[EquivalenceGroup]) -> bool:
        feasibility = self.pruning.feasibility
        for group in groups:  # noqa: SIM110 - a generator is slow, and this runs for most queues
            if feasibility(queue, group).estimate() is not Estimate.INFEASIBLE:
                return True
        return False

    def take(self, opened: list[PendingQueue], is_passed: IsPassed) -> tuple[list[Head], bool]:
        """Returns the heads of a cycle, and whether other workloads may be tried after it.

        An infeasible head is parked immediately, unless it reserves quota, or its flavor scan takes several
        cycles, in which other queues' heads are tried too. If no workload behind it can be admitted either,
        the queue is closed and removed from `opened`."""
        heads, infeasible, done = self._heads(opened)
        any_feasible, moved = bool(heads), False
        continued = self._continued(infeasible, any_feasible) if infeasible else set()
        for head in infeasible:
            queue, feasibility, _ = head
            reserves, continues = queue in self._reserving, queue in continued
            # With several flavors a scan takes several cycles. If the head were parked immediately, workloads
            # behind it would be tried a cycle earlier than in Kueue, before other queues' heads.
            if (reserves and any_feasible) or (continues and not feasibility.tries_once):
                heads.append(head)
            elif continues:
                moved |= queue.requeue_head(RequeueReason.NO_FIT, passes=is_passed(queue))
            else:
                queue.close()
                done.add(queue)
        if done:
            opened[:] = [queue for queue in opened if queue not in done]
        return heads, moved

    def _continued(self, infeasible: Iterable[Head], any_feasible: bool) -> set[PendingQueue]:
        """Returns the queues in which the workloads behind these heads must be tried: they may be admitted,
        or may reserve quota that feasible workloads could use."""
        reserving = {queue for queue, _, _ in infeasible if queue in self._reserving}
        feasible = {
            queue
            for queue, _, _ in infeasible
            if not (any_feasible and queue in reserving)
            and self.pruning.has_candidate(queue)  # first, as a negative result is cached
            and self._has_feasible(queue, queue.behind_head)
        }
        return feasible | reserving if any_feasible or feasible else feasible

    def _heads(self, opened: Iterable[PendingQueue]) -> tuple[list[Head], list[Head], set[PendingQueue]]:
        """Returns the feasible heads, the infeasible heads, and the queues in which all workloads were tried
        or none is feasible."""
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
            elif is_possible or queue in self._reserving:
                feasibility = self.pruning.feasibility(queue, group)
                estimate = feasibility.estimate() if is_possible else Estimate.INFEASIBLE
                selected = infeasible if estimate is Estimate.INFEASIBLE else heads
                selected.append((queue, feasibility, estimate))
            else:
                queue.close()
                done.add(queue)
        return heads, infeasible, done

    def fitting_in_order(self, heads: list[Head], preempting: Container[str]) -> list[Head] | None:
        """Returns the heads in the cycle's order, if each fits and needs only quota; else None. `preempting`
        are the keys of workloads that wait for preemption targets.

        Heads that no longer fit after the admissions before them then need no nomination: the next cycle
        finds them infeasible."""
        if not self._may_admit_in_order:
            return None
        for _, feasibility, estimate in heads:
            if estimate is not Estimate.FITS or not feasibility.needs_only_quota:
                return None
        if len(heads) == 1:
            return heads
        orders = [self._cycle_order(queue, feasibility, preempting) for queue, feasibility, _ in heads]
        return [heads[index] for index in sorted(range(len(heads)), key=orders.__getitem__)]

    def _cycle_order(
        self, queue: PendingQueue, feasibility: GroupEstimate, preempting: Container[str]
    ) -> CycleOrder:
        order = queue.head_order()
        is_preempting = order[-1] in preempting or order[-1] in queue.preemptors
        return cycle_order(self._rules, order, False, is_preempting, feasibility.borrowing())


def _may_admit_in_order(state: WorkingState) -> bool:
    """Returns whether the order of heads does not depend on earlier admissions, and no optional rule can hold
    a head back."""
    rules = state.rules
    return rules.fair_sharing is None and not rules.backfill and state.budgets is None


def _may_reserve(queue: PendingQueue, state: WorkingState) -> bool:
    """Returns whether a head that needs preemption but has no targets reserves quota until the end of the
    cycle (Cycle._reserve_unreclaimable)."""
    reclaims = queue.queue.reclaim_within_cohort is PreemptionPolicy.ANY
    return not reclaims or state.rules.prioritize_preemptors


SCANS_MAX = 32  # cycles in which a head tries its flavors while nothing changes
_ALL_TRIED = ScanProgress()


class FlavorScans:
    """The flavor scans of a pass since the last change."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[str, list[ScanProgress]] = {}

    def clear(self) -> None:
        """Drops all scans."""
        self._by_key.clear()

    def continues(self, head: Entry) -> bool:
        """Records the head's scan; returns whether the next cycle continues it. It does not once all flavors
        were tried, or if the scan stopped at the same flavors before: else heads could alternate
        endlessly."""
        scans = self._by_key.setdefault(head.workload.key, [])
        progress = _ALL_TRIED if head.scan is None else head.scan.progress
        new = progress not in scans and _ALL_TRIED not in scans
        continues = progress.pending and new and len(scans) < SCANS_MAX
        scans.append(progress if continues else _ALL_TRIED)
        return continues
