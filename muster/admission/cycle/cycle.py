"""A scheduling cycle: the heads of queues, each nominated, and then processed one after the other.

Kueue: schedule and processEntry in pkg/scheduler/scheduler.go. A cycle gives quota to whom it
admits; to send the targets of preemptors away, and heads back to their queues, is for its caller.
"""

from collections.abc import Sequence

from muster.admission.cycle.entry import Entry, Outcome, Scan
from muster.admission.cycle.nominate import nominate, renominate
from muster.admission.cycle.order import in_order
from muster.admission.cycle.reserve import Reservations
from muster.admission.flavors.fungibility import Mode
from muster.admission.flavors.topology import needs_replacement
from muster.admission.model import FlavorResource, PreemptionPolicy
from muster.admission.rules.backfill import Backfill
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState, usage_of

_STARTS_OVER = frozenset({Outcome.PREEMPTING, Outcome.DEFERRED, Outcome.GATED})
_OTHERS_FAULT = frozenset({Outcome.OVERLAPPING, Outcome.CROWDED_OUT})


class Cycle:
    """One cycle, the `number`th over the queues of these heads."""

    __slots__ = ("_backfill", "_now_ms", "_number", "_reserved", "_rules", "_state")

    def __init__(
        self, state: WorkingState, number: int, now_ms: int, backfill: Backfill | None = None
    ) -> None:
        self._state = state
        self._rules = state.rules
        self._number = number
        self._now_ms = now_ms
        self._backfill = backfill
        self._reserved = Reservations(state)

    def run(self, heads: Sequence[Entry]) -> None:
        """Says of each head what became of it. There is at most one a queue."""
        tenure = self._state.tenure
        nominated = [head for head in heads if nominate(self._state, head, self._number)]
        for head in in_order(nominated, self._rules):
            self._process(head)
            if tenure is not None and head.remark is None:
                head.remark = tenure.remarks.pop(head.workload.key, None)
        self._reserved.release()

    def take(self, head: Entry) -> None:
        """One of heads that come in order, if it has room and no question but that: none of them preempts,
        and nothing is kept for any. Mostly it gets what one that is alike got before."""
        known = None if head.recall is None else head.recall.assignment
        if known is None:
            nominate(self._state, head, self._number)
            self._process(head)
        else:
            head.assignment = known
            self._admit(head)

    def _process(self, head: Entry) -> None:
        rival = self._reserved.claimant(head)
        if rival and self._rules.recompute_overlapping:
            renominate(self._state, head, self._reserved.leaving(head.node))
            if head.assignment.mode is Mode.FIT:
                self._defer(head, rival)
                return
            rival = self._reserved.claimant(head)
        elif self._rules.topology_recompute and self._reserved.only_misplaced(head):
            renominate(self._state, head, ())
            rival = self._reserved.claimant(head)
        mode = head.assignment.mode
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
        """Whether it would fit, but a rule of ours forbids it, and tells it why."""
        workload, budgets = head.workload, self._state.budgets
        if budgets is not None:
            head.remark = budgets.refusal(head.node, head.usage, workload.run_time_ms)
        if self._backfill is not None and head.remark is None and workload.admission is None:
            head.remark = self._backfill.refusal(head)
        return head.remark is not None

    def _admit(self, head: Entry) -> None:
        workload, usage, placed = head.workload, head.assignment.usage, head.assignment.placed
        self._is_served(head)
        head.outcome = Outcome.ADMITTED
        head.admission = head.assignment.admission(head.queue.name)
        if head.replaced is not None:
            self._reserved.claim(head)
            self._state.take_back(head.replaced)
            usage = usage_of(head.admission, workload)
        if workload.admission is not None:
            self._state.place(
                self._state.holdings[head.queue.name][workload.key], usage, head.admission, placed
            )
            return
        risen = self._state.rise(workload, self._now_ms)
        self._state.hold(
            Holding(workload, head.node, usage, self._now_ms, False, head.admission, placed, risen)
        )

    def _preempt(self, head: Entry) -> None:
        self._is_served(head)
        self._close(head, Outcome.PREEMPTING)
        self._reserved.claim(head)
        self._reserved.keep(head, head.usage)

    def _is_served(self, head: Entry) -> None:
        if self._backfill is not None:
            self._backfill.is_served(head)

    def _defer(self, head: Entry, rival: str) -> None:
        self._is_served(head)
        self._close(head, Outcome.DEFERRED, rival)
        self._reserved.keep(head, head.usage)

    def _close(self, head: Entry, outcome: Outcome, rival: str = "") -> None:
        """It goes back to its queue. Where its search for flavors ended is remembered, unless the next
        cycle will find things changed, or it was not the flavor's fault and the rules say so."""
        head.outcome = outcome
        head.rival = rival
        if outcome in _STARTS_OVER or (outcome in _OTHERS_FAULT and not self._rules.keep_flavor_scan):
            head.scan = None
        else:
            generation = self._state.generation(head.queue.name)
            head.scan = Scan(head.assignment.progress, self._number, generation)

    def _reserve_unreclaimable(self, head: Entry) -> None:
        """Keeps its own quota for a head that finds no victims and could not reclaim it later.

        Kueue: reserveCapacityForUnreclaimablePreempt, quotaResourcesToReserve.
        """
        if self._backfill is not None and self._backfill.is_behind(head):
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
