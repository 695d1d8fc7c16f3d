"""A scheduling cycle: the heads of queues, each nominated, and then processed one after the other, and what
it keeps for those that wait.

Kueue: schedule and processEntry in pkg/scheduler/scheduler.go. A cycle gives quota to the workloads that it
admits; the caller evicts the targets of preemptors and requeues the other heads.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from muster.admission.cycle.entry import (
    CycleOrder,
    Entry,
    FlavorScan,
    HeadReservations,
    Outcome,
    cycle_order,
)
from muster.admission.cycle.nominate import nominate, renominate
from muster.admission.cycle.tournament import Tournament
from muster.admission.flavors.fungibility import Mode
from muster.admission.flavors.placement import needs_replacement
from muster.admission.model import FlavorResource, PreemptionPolicy, Rules
from muster.admission.preemption.shared_targets import SharedTargets
from muster.admission.queueing.groups import queue_order
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState, usage_of
from muster.admission.wait_note import earliest

_STARTS_OVER = frozenset({Outcome.PREEMPTING, Outcome.DEFERRED, Outcome.GATED})
_OTHERS_FAULT = frozenset({Outcome.OVERLAPPING, Outcome.CROWDED_OUT})


class Cycle:
    """One cycle, the `number`th over the queues of these heads."""

    __slots__ = ("_backfill", "_now_ms", "_number", "_reserved", "_rules", "_state")

    def __init__(
        self, state: WorkingState, number: int, now_ms: int, backfill: HeadReservations | None = None
    ) -> None:
        self._state = state
        self._rules = state.rules
        self._number = number
        self._now_ms = now_ms
        self._backfill = backfill
        self._reserved = CycleReservations(state)

    def run(self, heads: Sequence[Entry]) -> None:
        """Sets the outcome of each head. There is at most one a queue."""
        min_runtime = self._state.min_runtime
        shared = SharedTargets() if self._state.bounds_preemption else None
        nominated = [head for head in heads if nominate(self._state, head, self._number, shared)]
        for head in in_order(nominated, self._rules):
            self._process(head)
            if min_runtime is not None and head.note is None:
                # Popped, as a note holds for this search only: the next one may find victims.
                head.note = min_runtime.notes.pop(head.workload.key, None)
        self._reserved.release()

    def take(self, head: Entry) -> None:
        """Processes one of heads that come in order and over which room alone decides: none of them preempts,
        and no quota is kept for any. Mostly it gets the assignment of an equivalent one."""
        known = None if head.assignment_cache is None else head.assignment_cache.assignment
        if known is None:
            nominate(self._state, head, self._number)
            self._process(head)
        else:
            head.assignment = known
            self._admit(head)

    def _process(self, head: Entry) -> None:
        rival = self._reserved.claimant(head)
        # Another head has claimed a target first: with the rule, look for an assignment without its targets.
        if rival and self._rules.recompute_overlapping:
            renominate(self._state, head, self._reserved.leaving(head.node))
            if head.assignment.mode is Mode.FIT:
                self._defer(head, rival)
                return
            rival = self._reserved.claimant(head)
        # An earlier head of this cycle has taken its places: there may be others.
        elif self._rules.topology_recompute and self._reserved.only_misplaced(head):
            renominate(self._state, head, ())
            rival = self._reserved.claimant(head)
        mode = head.assignment.mode
        # The order matters, as the first reason is the one that is reported and decides over requeueing.
        if mode is not Mode.FIT and self._rules.topology_fail_fast and needs_replacement(head.workload):
            self._close(head, Outcome.NOT_REPLACED)
        elif mode is Mode.NO_FIT:
            self._close(head, Outcome.NO_FIT)
        elif mode is not Mode.FIT and not head.targets:
            self._close(head, Outcome.NO_CANDIDATES)
            self._reserve_unreclaimable(head)
        elif mode is not Mode.FIT and head.workload.preemption_gated and self._rules.preemption_gates:
            self._close(head, Outcome.GATED)
        elif rival:
            self._close(head, Outcome.OVERLAPPING, rival)
        elif not self._reserved.fits(head) or (mode is Mode.FIT and not self._reserved.fits_now(head)):
            self._close(head, Outcome.CROWDED_OUT, self._reserved.rival(head))
        elif self._is_held(head):
            self._close(head, Outcome.HELD)
        elif mode is Mode.FIT:
            self._admit(head)
        else:
            self._preempt(head)

    def _is_held(self, head: Entry) -> bool:
        """Whether it would fit, but an optional rule forbids it; its note says why."""
        workload, budgets = head.workload, self._state.budgets
        if budgets is not None:
            head.note, head.until_ms = budgets.ruling(head.node, head.usage, workload.run_time_ms)
        if self._backfill is not None and head.note is None and workload.admission is None:
            head.note, until_ms = self._backfill.ruling(head)
            head.until_ms = earliest(head.until_ms, until_ms)
        return head.note is not None

    def _admit(self, head: Entry) -> None:
        workload, usage, placed = head.workload, head.assignment.usage, head.assignment.placed
        self._drop_reservation(head)
        head.outcome = Outcome.ADMITTED
        head.admission = head.assignment.admission(head.queue.name)
        if head.replaced is not None:
            # No later head of the cycle may count on the slice's quota: all of it goes to its successor.
            self._reserved.claim(head)
            self._state.remove_holding(head.replaced)
            usage = usage_of(head.admission, workload)
        if workload.admission is not None:
            self._state.place(
                self._state.holdings[head.queue.name][workload.key], usage, head.admission, placed
            )
            return
        priority_boost = self._state.priority_boost(workload, self._now_ms)
        self._state.add_holding(
            Holding(workload, head.node, usage, self._now_ms, False, head.admission, placed, priority_boost)
        )

    def _preempt(self, head: Entry) -> None:
        self._drop_reservation(head)
        self._close(head, Outcome.PREEMPTING)
        self._reserved.claim(head)
        # As if it had its quota already: another head would take the room that its victims make (Kueue:
        # processEntry adds the usage of an entry that preempts to its snapshot).
        self._reserved.keep(head, head.usage)

    def _drop_reservation(self, head: Entry) -> None:
        if self._backfill is not None:
            self._backfill.drop_reservation(head)

    def _defer(self, head: Entry, rival: str) -> None:
        self._drop_reservation(head)
        self._close(head, Outcome.DEFERRED, rival)
        self._reserved.keep(head, head.usage)

    def _close(self, head: Entry, outcome: Outcome, rival: str = "") -> None:
        """Sets the outcome of a head that is not admitted. Where its search for flavors ended is kept, unless
        the next cycle starts from another state, or other heads were the reason and the rules say so."""
        head.outcome = outcome
        head.rival = rival
        if outcome in _STARTS_OVER or (outcome in _OTHERS_FAULT and not self._rules.keep_flavor_scan):
            head.scan = None
        else:
            generation = self._state.generation(head.queue.name)
            head.scan = FlavorScan(head.assignment.progress, self._number, generation)

    def _reserve_unreclaimable(self, head: Entry) -> None:
        """Keeps its own quota for a head that finds no victims and could not reclaim it later.

        Kueue: reserveCapacityForUnreclaimablePreempt, quotaResourcesToReserve.
        """
        if self._backfill is not None and self._backfill.is_behind_reservation(head):
            return
        prioritized = head.preempting and self._rules.prioritize_preemptors
        if head.queue.reclaim_within_cohort is PreemptionPolicy.ANY and not prioritized:
            return
        share: dict[FlavorResource, int] = {}
        for fr, amount in head.usage.items():
            quota = head.node.quota(fr)
            limit = quota.borrowing_limit if head.assignment.borrowing else 0
            if limit is not None:
                amount = min(amount, quota.nominal + limit - head.node.usage.get(fr, 0))
            share[fr] = max(0, amount)
        self._reserved.keep(head, share)


def in_order(entries: Iterable[Entry], rules: Rules) -> Iterator[Entry]:
    """Kueue: makeIterator. Each head is to be processed before the next one is taken."""
    if rules.fair_sharing is not None:
        return iter(Tournament(entries, rules))

    def place(head: Entry) -> CycleOrder:
        order, admitted = queue_order(head.ranked), head.workload.admission is not None
        return cycle_order(rules, order, admitted, head.preempting, head.assignment.borrowing)

    return iter(sorted(entries, key=place))


class CycleReservations:
    """Quota that counts as used until the end of a cycle, and holdings that count as gone.

    Kueue: PreemptedWorkloads, and the usage that processEntry adds to its snapshot.
    """

    __slots__ = ("_claims", "_kept", "_leaving", "_state")

    def __init__(self, state: WorkingState) -> None:
        self._state = state
        self._claims: dict[str, str] = {}  # key of the claiming workload by that of the claimed one
        self._leaving: list[Holding] = []
        self._kept: list[tuple[Entry, Usage]] = []

    def claimant(self, head: Entry) -> str:
        """Key of a workload that claimed a target of the head before it; empty if there is none."""
        if not self._claims:
            return ""
        wanted = (holding.workload.key for holding in head.claimed)
        return next((self._claims[key] for key in wanted if key in self._claims), "")

    def claim(self, head: Entry) -> None:
        """Claims its targets, and the slice that it replaces: no other head may have them."""
        self._claims.update((holding.workload.key, head.workload.key) for holding in head.claimed)
        self._leaving += (target.holding for target in head.targets)

    def keep(self, head: Entry, usage: Usage) -> None:
        """Keeps usage for a head, with the places that its pods would have."""
        head.node.add(usage)
        self._state.topologies().add(head.assignment.placed)
        self._kept.append((head, usage))

    def release(self) -> None:
        """The end of the cycle: what was kept is kept no longer."""
        for head, usage in self._kept:
            head.node.remove(usage)
            self._state.topologies().remove(head.assignment.placed)

    def leaving(self, node: QuotaNode) -> list[Holding]:
        """Victims that leave queues of the node's tree, or places on the cluster's nodes."""
        return [holding for holding in self._leaving if holding.placed or holding.node.root is node.root]

    def fits(self, head: Entry) -> bool:
        """Whether it fits beside all that the cycle has given and kept, once all victims have left."""
        # Most heads: to simulate that nothing leaves costs more than the question.
        if not (self._leaving or head.targets):
            return self._has_room(head)
        with self._state.without(self._gone(head)):
            return self._has_room(head)

    def only_misplaced(self, head: Entry) -> bool:
        """Whether it would fit if only its pods found other places."""
        placed = head.assignment.placed
        if not placed:
            return False
        with self._state.without(self._gone(head)):
            return head.node.fits(head.usage) and not self._state.topologies().fits(placed)

    def _gone(self, head: Entry) -> Iterable[Holding]:
        targets = [target.holding for target in head.targets]
        # one that another head has claimed goes only once
        return dict.fromkeys(chain(self.leaving(head.node), targets)) if self._leaving else targets

    def _has_room(self, head: Entry) -> bool:
        placed = head.assignment.placed
        return head.node.fits(head.usage) and (not placed or self._state.topologies().fits(placed))

    def fits_now(self, head: Entry) -> bool:
        """Whether it fits while the victims still run and their places are not taken yet.

        Kueue does not ask this, and may admit too much meanwhile.
        """
        if not self.leaving(head.node):
            return True
        # What is kept comes out of the victims' quota: while they run it would count twice.
        self.release()
        fits = self._has_room(head)
        for waiting, usage in self._kept:
            waiting.node.add(usage)
            self._state.topologies().add(waiting.assignment.placed)
        return fits

    def rival(self, head: Entry) -> str:
        """Key of a workload for which something is kept that the head needs; empty if there is none."""
        rivals = (
            waiting.workload.key
            for waiting, usage in self._kept
            if waiting.node.root is head.node.root and usage.keys() & head.usage.keys()
        )
        return next(rivals, "")
