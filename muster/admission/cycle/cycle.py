"""A scheduling cycle: the heads of queues, each nominated, and then processed one after the other.

Kueue: schedule and processEntry in pkg/scheduler/scheduler.go. A cycle gives quota to the workloads that it
admits; the caller evicts the targets of preemptors and requeues the other heads.
"""

from collections.abc import Sequence
from typing import Protocol

from muster.admission.cycle.entry import Entry, FlavorScan, Outcome
from muster.admission.cycle.nominate import nominate, renominate
from muster.admission.cycle.order import in_order
from muster.admission.cycle.reservations import CycleReservations
from muster.admission.flavors.fungibility import Mode
from muster.admission.flavors.placement import needs_replacement
from muster.admission.model import FlavorResource, PreemptionPolicy
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState, usage_of
from muster.admission.wait_note import WaitNote

_STARTS_OVER = frozenset({Outcome.PREEMPTING, Outcome.DEFERRED, Outcome.GATED})
_OTHERS_FAULT = frozenset({Outcome.OVERLAPPING, Outcome.CROWDED_OUT})


class HeadReservations(Protocol):
    """Keeps room for heads that wait: a hook of the cycle (rules/backfill.py)."""

    def refusal(self, head: Entry) -> WaitNote | None: ...

    def drop_reservation(self, head: Entry) -> None: ...

    def is_behind_reservation(self, head: Entry) -> bool: ...


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
        nominated = [head for head in heads if nominate(self._state, head, self._number)]
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
            head.note = budgets.refusal(head.node, head.usage, workload.run_time_ms)
        if self._backfill is not None and head.note is None and workload.admission is None:
            head.note = self._backfill.refusal(head)
        return head.note is not None

    def _admit(self, head: Entry) -> None:
        workload, usage, placed = head.workload, head.assignment.usage, head.assignment.placed
        self._drop_reservation(head)
        head.outcome = Outcome.ADMITTED
        head.admission = head.assignment.admission(head.queue.name)
        if head.replaced is not None:
            # No later head of the cycle may count on the slice's quota: all of it goes to its successor.
            self._reserved.claim(head)
            self._state.take_back(head.replaced)
            usage = usage_of(head.admission, workload)
        if workload.admission is not None:
            self._state.place(
                self._state.holdings[head.queue.name][workload.key], usage, head.admission, placed
            )
            return
        priority_boost = self._state.priority_boost(workload, self._now_ms)
        self._state.hold(
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
