"""Runs a scheduling cycle: nominates the heads of the queues, then processes them in order and reserves quota
for heads that must wait.

Kueue: schedule and processEntry in pkg/scheduler/scheduler.go. A cycle assigns quota to the workloads that
it admits; the caller evicts the targets of preemptors and requeues the other heads.
"""

from collections.abc import Iterable, Iterator, Sequence

from muster.admission.cycle.claimed_targets import ClaimedTargets, ReleasedTargets
from muster.admission.cycle.entry import (
    CycleOrder,
    Entry,
    EntryOutcome,
    FlavorScan,
    HeadReservations,
    cycle_order,
)
from muster.admission.cycle.nominate import nominate, renominate
from muster.admission.cycle.nomination_cache import NominationCache
from muster.admission.cycle.pending_claims import PendingClaims
from muster.admission.cycle.tournament import Tournament
from muster.admission.flavors.fungibility import Mode
from muster.admission.flavors.placement import needs_replacement
from muster.admission.model import Admission, FlavorResource, PreemptionPolicy, Rules
from muster.admission.preemption.shared_targets import SharedTargets
from muster.admission.queueing.groups import queue_order
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState, usage_of
from muster.admission.topology import TopologyUsage
from muster.admission.wait_note import earliest

_RESTARTS_SCAN = frozenset({EntryOutcome.PREEMPTING, EntryOutcome.DEFERRED, EntryOutcome.GATED})
_BLOCKED_BY_OTHERS = frozenset({EntryOutcome.OVERLAPPING, EntryOutcome.CROWDED_OUT})


class Cycle:
    """The `number`th cycle of a pass over the queues of its heads."""

    __slots__ = (
        "_backfill",
        "_claims",
        "_nominations",
        "_now_ms",
        "_number",
        "_reserved",
        "_rules",
        "_state",
    )

    def __init__(
        self,
        state: WorkingState,
        number: int,
        now_ms: int,
        backfill: HeadReservations | None = None,
        claims: PendingClaims | None = None,
        nominations: NominationCache | None = None,
    ) -> None:
        """`claims` are those of earlier cycles of the pass, to which this one adds; `nominations` those of
        earlier decisions."""
        self._state = state
        self._rules = state.rules
        self._number = number
        self._now_ms = now_ms
        self._nominations = nominations
        self._backfill = backfill
        self._claims = PendingClaims(state) if claims is None else claims
        self._reserved = CycleReservations(state)

    def run(self, heads: Sequence[Entry]) -> None:
        """Sets the outcome of each head. Each queue has at most one."""
        min_runtime = self._state.min_runtime
        shared = SharedTargets() if self._state.bounds_preemption and len(heads) > 1 else None
        nominated = [head for head in heads if self._nominate(head, shared)]
        for number, head in enumerate(in_order(nominated, self._rules), 1):
            # After the last head, often the only one, nothing reads reservations.
            self._reserved.are_read = number < len(nominated)
            self._process(head, is_first=number == 1)
            if min_runtime is not None and head.note is None:
                # Popped, as a note is valid for this search only: the next search may find targets.
                head.note = min_runtime.notes.pop(head.workload.key, None)
        self._reserved.release()

    def _nominate(self, head: Entry, shared: SharedTargets | None) -> bool:
        if not self._claims.affect(head.workload, head.node) or self._claims.remaining(head) <= 0:
            return nominate(self._state, head, self._number, shared, self._nominations)
        head.assignment_cache = None  # equivalent workloads are nominated in another state
        with self._claims.settled(head.node, self._number):
            nominated = nominate(self._state, head, self._number)
        settled, fits = head.assignment, head.assignment.mode is Mode.FIT
        if not nominated or fits or head.workload.surplus_of or _preempts_only_surplus(head):
            return nominated
        nominate(self._state, head, self._number, shared, self._nominations)
        if head.assignment.mode is Mode.FIT:  # into quota that an earlier head waits to complete
            head.assignment, head.targets = settled, ()
        return True

    def _renominate(self, head: Entry, claimed: Sequence[Holding]) -> None:
        """Nominates the head again without the targets that this cycle has claimed."""
        if not self._claims.affect(head.workload, head.node):
            renominate(self._state, head, claimed)
            return
        with self._claims.settled(head.node, self._number):
            held = self._state.holdings
            remaining = [target for target in claimed if target.workload.key in held[target.node.name]]
            renominate(self._state, head, remaining)

    def admit_fitting(self, head: Entry) -> None:
        """Processes a head that fits and needs only quota; the caller passes such heads in the order of the
        cycle. They do not preempt or reserve quota. Most get the assignment of an equivalent workload."""
        cached = None if head.assignment_cache is None else head.assignment_cache.assignment
        if cached is None:
            nominate(self._state, head, self._number, nominations=self._nominations)
            self._process(head)
        else:
            head.assignment = cached
            self._admit(head)

    def _process(self, head: Entry, is_first: bool = False) -> None:
        rival = self._reserved.claimant(head)
        # An earlier head has claimed a target: with the rule, look for an assignment without its targets.
        if rival and (self._rules.recompute_overlapping or head.workload.surplus_of):
            self._renominate(head, self._reserved.claimed_targets(head.node))
            if head.assignment.mode is Mode.FIT:
                self._defer(head, rival)
                return
            rival = self._reserved.claimant(head)
        # An earlier head of this cycle has taken its nodes: its pods may fit on others.
        elif self._rules.topology_recompute and self._reserved.lacks_only_nodes(head):
            self._renominate(head, ())
            rival = self._reserved.claimant(head)
        mode = head.assignment.mode
        # The order matters: the first match is reported, and decides how the head is requeued.
        if mode is not Mode.FIT and self._rules.topology_fail_fast and needs_replacement(head.workload):
            self._close(head, EntryOutcome.NOT_REPLACED)
        elif mode is Mode.NO_FIT:
            self._close(head, EntryOutcome.NO_FIT)
        elif mode is not Mode.FIT and not head.targets:
            self._close(head, EntryOutcome.NO_CANDIDATES)
            self._reserve_unreclaimable(head)
        elif mode is not Mode.FIT and head.workload.preemption_gated and self._rules.preemption_gates:
            self._close(head, EntryOutcome.GATED)
        elif rival:
            self._close(head, EntryOutcome.OVERLAPPING, rival)
        elif (
            mode is Mode.FIT
            and self._claims.affect(head.workload, head.node)
            and not head.node.fits(head.usage)
        ):
            self._defer(head, "")
        elif not (is_first and self._fits_as_nominated(head)) and not self._fits(head):
            self._close(head, EntryOutcome.CROWDED_OUT, self._reserved.rival(head))
        elif self._is_held(head):
            self._close(head, EntryOutcome.HELD)
        elif mode is Mode.FIT:
            self._admit(head)
        else:
            self._preempt(head)

    def _fits_as_nominated(self, head: Entry) -> bool:
        """Returns whether the search for its targets has checked that the head fits after their release, in
        the state of its nomination. It does not check the nodes that the head then reserves. Heads that
        earlier claims affect are nominated in another state."""
        return (
            bool(head.targets)
            and not head.assignment.placed
            and not self._claims.affect(head.workload, head.node)
        )

    def _fits(self, head: Entry) -> bool:
        if not self._reserved.fits(head):
            return False
        return head.assignment.mode is not Mode.FIT or self._reserved.fits_now(head)

    def _is_held(self, head: Entry) -> bool:
        """Returns whether an optional rule holds back a head that fits; its note has the reason."""
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
        head.outcome = EntryOutcome.ADMITTED
        head.admission = head.assignment.admission(head.queue.name)
        if head.replaced is not None:
            # The slice's quota goes to its successor: no later head of the cycle may use it.
            self._reserved.claim(head)
            self._state.remove_holding(head.replaced)
            usage = usage_of(head.admission, workload)
        if workload.admission is not None:
            holding = self._state.holdings[head.queue.name][workload.key]
            self._reserved.place(holding, usage, head.admission, placed)
            return
        priority_boost = self._state.priority_boost(workload, self._now_ms)
        holding = Holding(
            workload, head.node, usage, self._now_ms, False, head.admission, placed, priority_boost
        )
        holding.over_budget = workload.over_budget
        self._state.add_holding(holding)

    def _preempt(self, head: Entry) -> None:
        self._drop_reservation(head)
        self._close(head, EntryOutcome.PREEMPTING)
        self._claims.add(head, self._number)
        self._reserved.claim(head)
        # Else another head could take the quota that its targets release (Kueue: processEntry adds the
        # usage of a preempting entry to its snapshot).
        self._reserved.reserve(head, head.usage)

    def _drop_reservation(self, head: Entry) -> None:
        if self._backfill is not None:
            self._backfill.drop_reservation(head)

    def _defer(self, head: Entry, rival: str) -> None:
        self._drop_reservation(head)
        self._close(head, EntryOutcome.DEFERRED, rival)
        self._claims.add(head, self._number)
        self._reserved.reserve(head, head.usage)

    def _close(self, head: Entry, outcome: EntryOutcome, rival: str = "") -> None:
        """Sets the outcome of a head that is not admitted. Its flavor scan is kept, unless the next cycle
        starts from another state, or other heads blocked it and the rules discard it then."""
        head.outcome = outcome
        head.rival = rival
        if outcome in _RESTARTS_SCAN or (outcome in _BLOCKED_BY_OTHERS and not self._rules.keep_flavor_scan):
            head.scan = None
        else:
            generation = self._state.generation(head.queue.name)
            head.scan = FlavorScan(head.assignment.progress, self._number, generation)

    def _reserve_unreclaimable(self, head: Entry) -> None:
        """Reserves a queue's own quota for its head that finds no targets and could not reclaim it later.

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
        self._reserved.reserve(head, share)


def _preempts_only_surplus(head: Entry) -> bool:
    return bool(head.targets) and all(target.holding.workload.surplus_of for target in head.targets)


def in_order(entries: Sequence[Entry], rules: Rules) -> Iterator[Entry]:
    """Iterates over heads in the cycle's order (Kueue: makeIterator). The caller must process each head
    before it takes the next."""
    if len(entries) == 1:
        return iter(entries)
    if rules.fair_sharing is not None:
        return iter(Tournament(entries, rules))

    def place(head: Entry) -> CycleOrder:
        order, admitted = queue_order(head.ranked), head.workload.admission is not None
        return cycle_order(rules, order, admitted, head.preempting, head.assignment.borrowing)

    return iter(sorted(entries, key=place))


class CycleReservations:
    """Quota that counts as used until the end of a cycle, and targets that count as released.

    Kueue: PreemptedWorkloads, and the usage that processEntry adds to its snapshot. Unless they `are_read`,
    reservations and claims are not recorded.
    """

    __slots__ = ("_claims", "_reserved", "_state", "_targets", "are_read")

    def __init__(self, state: WorkingState) -> None:
        self._state = state
        self.are_read = True
        self._claims: dict[str, str] = {}  # the claiming workload's key by the claimed workload's
        self._targets = ClaimedTargets(state)
        self._reserved: list[tuple[Entry, Usage]] = []

    def claimant(self, head: Entry) -> str:
        """Returns the key of the gang that claimed a target of the head first; empty without one."""
        if not self._claims:
            return ""
        claimed = (holding.workload.key for holding in head.claimed)
        return next((self._claims[key] for key in claimed if key in self._claims), "")

    def claim(self, head: Entry) -> None:
        """Claims the head's targets and the slice that it replaces, so that no other head uses them."""
        if not self.are_read:
            return
        self._claims.update((holding.workload.key, head.workload.gang_key) for holding in head.claimed)
        for target in head.targets:
            if target.holding not in self._targets:
                self._targets.add(target.holding)

    def place(
        self, holding: Holding, usage: Usage, admission: Admission, placed: Iterable[TopologyUsage]
    ) -> None:
        """Sets a new admission of a workload that holds quota, and that a head may have claimed."""
        claimed = holding in self._targets
        if claimed:
            self._targets.discard(holding)
        self._state.place(holding, usage, admission, placed)
        if claimed:
            self._targets.add(holding)

    def reserve(self, head: Entry, usage: Usage) -> None:
        """Reserves quota for a head, and the nodes assigned to its pods."""
        if not self.are_read:
            return
        head.node.add(usage)
        self._state.topologies().add(head.assignment.placed)
        self._reserved.append((head, usage))

    def release(self) -> None:
        """Releases all reservations at the end of the cycle."""
        for head, usage in self._reserved:
            head.node.remove(usage)
            self._state.topologies().remove(head.assignment.placed)

    def claimed_targets(self, node: QuotaNode) -> list[Holding]:
        """Returns targets that release quota of the node's tree, or topology nodes."""
        return self._targets.affecting(node)

    def fits(self, head: Entry) -> bool:
        """Returns whether the head fits next to everything that the cycle has admitted and reserved, once all
        targets are released."""
        # Most heads: a simulated release of nothing would cost more than the check.
        if not (self._targets or head.targets):
            return self._fits(head)
        with self._released(head):
            return self._fits(head)

    def lacks_only_nodes(self, head: Entry) -> bool:
        """Returns whether the head has enough quota, but its nodes are taken."""
        placed = head.assignment.placed
        if not placed:
            return False
        with self._released(head):
            return head.node.fits(head.usage) and not self._state.topologies().fits(placed)

    def _released(self, head: Entry) -> ReleasedTargets:
        return self._targets.released(head.node, [target.holding for target in head.targets])

    def _fits(self, head: Entry) -> bool:
        placed = head.assignment.placed
        return head.node.fits(head.usage) and (not placed or self._state.topologies().fits(placed))

    def fits_now(self, head: Entry) -> bool:
        """Returns whether the head fits while the targets still run.

        Kueue does not check this, and may exceed the quota until they have terminated.
        """
        if not self._targets.affects(head.node):
            return True
        # Reservations come out of the targets' quota, which would count twice while these run.
        self.release()
        fits = self._fits(head)
        for waiting, usage in self._reserved:
            waiting.node.add(usage)
            self._state.topologies().add(waiting.assignment.placed)
        return fits

    def rival(self, head: Entry) -> str:
        """Returns the key of the gang with a reservation that the head needs; empty without one."""
        rivals = (
            waiting.workload.gang_key
            for waiting, usage in self._reserved
            if waiting.node.root is head.node.root and usage.keys() & head.usage.keys()
        )
        return next(rivals, "")
