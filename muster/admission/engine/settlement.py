"""Runs cycles over a contention group until nothing changes.

Cycles run in passes. A pass starts with all workloads; each cycle tries the head of every queue, and heads
that cannot be admitted are parked until the next pass. When a whole pass changes nothing, the group is
settled until one of its objects changes. So decisions do not depend on earlier attempts, with one exception:
new workloads are settled first, before workloads that the last decision parked (Rules.immediate_unparking).

Kueue parks workloads for longer, and unparks a cohort tree's workloads when quota is released in it
(pkg/cache/queue/inadmissible_workloads.go). Here pruning detects most workloads that cannot be admitted
(muster/admission/pruning), and skips their queues as if they had been tried.
"""

from collections.abc import Container, Iterable
from dataclasses import replace

from muster.admission.cycle.cycle import Cycle
from muster.admission.cycle.entry import REQUEUE, Entry, EntryOutcome
from muster.admission.cycle.pending_claims import PendingClaims
from muster.admission.engine.changes import Changes
from muster.admission.engine.contention import ContentionGroup
from muster.admission.engine.heads import SCANS_MAX, FlavorScans, Head
from muster.admission.model import Workload
from muster.admission.pruning.protocol import GroupEstimate
from muster.admission.queueing.pending import PendingQueue
from muster.admission.queueing.requeue import RequeueReason
from muster.admission.rules.backfill import BLOCKED_HEADS_MAX
from muster.admission.wait_note import earliest

_UNCHECKED = 100  # passes, or cycles of a pass, before their upper limit is computed


def settle(group: ContentionGroup, changes: Changes, now_ms: int, unpark: bool = True) -> bool:
    """Runs cycles until nothing changes, and records their results in `changes`. Returns False if the next
    decision must try again, for one of two reasons: it tries unparked workloads separately, without the
    reservations of workloads that are now parked; or workloads that this decision admitted will have started,
    and will be protected from preemption.

    Kueue tries parked workloads together, some time after all others (UpdateInadmissible…): an unparked
    workload may be admitted before them, regardless of priority. Without `unpark`, parked workloads are left
    to a later decision.
    """
    settlement = _Settlement(group, changes, now_ms)
    return settlement.run() if unpark else settlement.run_without_parked()


class _Settlement:
    """The passes and cycles of one decision. Stores its results in the group: `heads`, and the parked
    workloads of each queue."""

    def __init__(self, group: ContentionGroup, changes: Changes, now_ms: int) -> None:
        self._group = group
        self._state = group.state
        self._queues = group.queues
        self._occupied = group.occupied
        self._selector = group.selector
        self._backfill = group.backfill
        self._heads = group.heads
        self._placing = group.placing
        self._changes = changes
        self._now_ms = now_ms
        self._preempting: set[str] = set()  # heads that wait for their targets
        self._scans = FlavorScans()
        self._claims = PendingClaims(group.state)
        self._tried = False  # whether workloads that are requeued now are parked after this decision
        # Set by the current pass and cycle.
        self._include_parked: bool  # whether parked workloads are tried
        self._open: list[PendingQueue]
        self._moved: bool  # whether this cycle has changed anything

    def run(self) -> bool:
        if not self._group.is_waiting:
            self._begin_pass()
            return True
        before = self._changes.count
        some_parked = any(queue.parked for queue in self._occupied)
        if some_parked and self._tries_unparked_first():
            self._settle(include_parked=False)
        # Workloads whose admission is reverted were tried like the parked ones, and are parked with them.
        self._tried = some_parked
        if some_parked:  # from here on all are tried together
            self._park()
        self._settle(include_parked=True)
        if not some_parked:
            self._park()
        if self._state.min_runtime is not None and self._state.min_runtime.begins:
            return False
        return self._changes.count == before or not (
            self._selector.may_reserve_quota and self._tries_unparked_first()
        )

    def run_without_parked(self) -> bool:
        """Tries only unparked workloads, and parks the ones that it does not admit."""
        if not self._group.is_waiting:
            return self.run()
        self._tried = True
        self._settle(include_parked=False)
        self._park()
        return False

    def _tries_unparked_first(self) -> bool:
        """Returns whether unparked workloads are tried before parked ones."""
        return not self._state.rules.immediate_unparking and any(queue.fresh for queue in self._occupied)

    def _park(self) -> None:
        for queue in self._occupied:
            queue.park()

    def _settle(self, include_parked: bool) -> None:
        self._include_parked = include_parked
        passes = 1
        while self._pass():
            if not self._group.is_waiting:
                self._begin_pass()  # clears the results of the last pass
                return
            assert passes < _UNCHECKED or passes < self._moves_max(), f"not settled after {passes} passes"
            passes += 1

    def _moves_max(self) -> int:
        """Returns the upper limit of passes, and of cycles in a pass."""
        holdings = self._state.holdings
        moves = sum(len(holdings[name]) + len(queue) for name, queue in self._queues.items())
        return (10 + 4 * moves) * (1 + SCANS_MAX)

    def _pass(self) -> bool:
        """Runs a pass; returns whether anything changed. Ends early when quota was released, as the next pass
        tries all workloads again."""
        self._begin_pass()
        changed = self._changes.count
        self._open = self._selector.queues_to_open(self._include_parked)
        for queue in self._open:
            queue.open(self._include_parked)
        number = 0
        # In most passes no queue is open.
        while (self._open or self._placing) and self._cycle(number) and self._occupied:
            assert number < _UNCHECKED or number < self._moves_max(), f"not over after {number} cycles"
            number += 1
        self._mark_preemptors()
        return self._changes.count != changed

    def _begin_pass(self) -> None:
        self._heads.clear()
        self._preempting.clear()
        self._scans.clear()
        self._claims.clear()
        if self._state.min_runtime is not None:
            self._state.min_runtime.begins = False
        self._reserve()

    def _reserve(self) -> None:
        if self._backfill is not None:
            heads = [queue.first_workloads(BLOCKED_HEADS_MAX) for queue in self._occupied]
            self._backfill.reserve(heads)

    def _cycle(self, number: int) -> bool:
        """Runs a cycle; returns whether another one follows in this pass."""
        freed = self._changes.freed
        if number:
            self._reserve()  # again, as the admissions of the last cycle change when heads fit
        selected, self._moved = self._selector.take(self._open, self._group.is_passed)
        # Workloads that hold quota need only nodes, and are tried once a pass: if nodes are released, another
        # pass follows.
        placing = [] if number else self._second_pass_entries()
        if not selected and not placing:
            return self._moved
        group = self._group
        cycle = Cycle(self._state, number, self._now_ms, self._backfill, self._claims, group.nominations)
        # A head that fits may fit only into quota that a parked head waits to complete.
        nominates = placing or any(self._is_affected(queue) for queue, _, _ in selected)
        fitting = None if nominates else self._selector.fitting_in_order(selected, self._preempting)
        if fitting is None:
            heads = [*(self._entry(queue, feasibility) for queue, feasibility, _ in selected), *placing]
            cycle.run(heads)
            for head in heads:
                self._conclude(head)
        else:
            self._admit_in_order(cycle, fitting)
        # If quota was released, parked workloads may fit: the pass ends, and the next one tries all.
        return self._moved and self._changes.freed == freed

    def _admit_in_order(self, cycle: Cycle, fitting: Iterable[Head]) -> None:
        """Admits heads in order; skips heads that no longer fit after earlier admissions."""
        pruning = self._selector.pruning
        possible: Container[PendingQueue] | None = None  # computed once a head was skipped
        for queue, feasibility, _ in fitting:
            if possible is not None and queue not in possible:
                continue
            if feasibility.fits():
                head = self._entry(queue, feasibility)
                cycle.admit_fitting(head)
                self._conclude(head)
                # The next head's estimate depends on the quota that this one uses.
                pruning.refresh()
            elif possible is None:
                possible = pruning.possible()

    def _second_pass_entries(self) -> list[Entry]:
        queue = self._state.queue
        return [
            Entry(holding.workload, queue(holding.node.name), holding.node)
            for holding in self._placing.values()
        ]

    def _is_affected(self, queue: PendingQueue) -> bool:
        """Returns whether the head of the queue depends on targets for which others wait."""
        head = queue.head()
        return head is not None and self._claims.affect(head, queue.node)

    def _entry(self, queue: PendingQueue, feasibility: GroupEstimate) -> Entry:
        workload = queue.head()
        assert workload is not None
        # The object is marked only at the end of the pass, but the last cycle already orders the heads.
        preempting = workload.preempting or workload.key in self._preempting
        entry = Entry(workload, queue.queue, queue.node, preempting, copies=queue.head_copies())
        entry.assignment_cache = feasibility.assignment_cache
        entry.priority_boost = self._state.priority_boost(workload, self._now_ms)
        last = self._heads.get(workload.key)
        if last is not None:
            entry.scan = last.scan
        return entry

    def _conclude(self, head: Entry) -> None:
        before = self._changes.count
        if head.outcome is EntryOutcome.ADMITTED:
            self._admit(head)
        elif head.outcome is EntryOutcome.NOT_REPLACED:
            self._changes.displace(self._state, self._placing.pop(head.workload.key))
        elif head.outcome is EntryOutcome.PREEMPTING:
            self._preempt(head)
        if self._changes.count != before:
            self._moved = True
            # Flavors that were tried before the change may fit now, so no scan is complete.
            self._scans.clear()
        if head.outcome is not EntryOutcome.ADMITTED and head.workload.admission is None:
            self._requeue(head)

    def _requeue(self, head: Entry) -> None:
        last = self._heads.get(head.workload.key)
        if last is not None:  # an earlier cycle of this pass tried other flavors, which a rule may hold back
            head.note = head.note or last.note
            head.until_ms = earliest(head.until_ms, last.until_ms)
        self._heads[head.workload.key] = head
        if REQUEUE[head.outcome] is RequeueReason.PENDING_PREEMPTION:
            self._preempting.add(head.workload.key)
        else:
            self._preempting.discard(head.workload.key)
        queue = self._queues[head.queue.name]
        continues = self._scans.continues(head)
        pending = REQUEUE[head.outcome] is RequeueReason.PENDING_PREEMPTION and self._claims.affect(
            head.workload, head.node
        )
        claims_again = pending and self._claims.remaining(head) > 0
        parks = pending and not claims_again
        if queue.requeue_head(REQUEUE[head.outcome], continues, self._group.is_passed(queue), parks=parks):
            self._moved = True
        self._moved |= continues or claims_again

    def _admit(self, head: Entry) -> None:
        key = head.workload.key
        self._heads.pop(key, None)
        self._preempting.discard(key)
        if head.workload.admission is None:
            self._queues[head.queue.name].admit_head()
        self._placing.pop(key, None)
        self._changes.admit(head, self._state.holdings[head.queue.name][key])

    def _preempt(self, head: Entry) -> None:
        for target in head.targets:
            for requeued in self._changes.preempt(self._state, target, head.workload):
                self._queues[requeued.cluster_queue].put(requeued, tried=self._tried)
                self._group.touch(requeued.cluster_queue)

    def _mark_preemptors(self) -> None:
        """Moves workloads that wait for their targets to the front of the queue; unmarks the others."""
        preempting = self._preempting
        for queue in [queue for queue in self._occupied if queue.preemptors]:
            unmarked = [workload for key, workload in queue.preemptors.items() if key not in preempting]
            for workload in unmarked:
                # At most once in a decision: a workload that finds targets only in every second pass would be
                # marked and unmarked alternately, and the decision would not end.
                if workload.key not in self._changes.unmarked:
                    self._changes.unmarked.add(workload.key)
                    self._mark(queue, workload, False)
        for key in preempting:
            head = self._heads[key]
            # No object keeps the mark of surplus: a new engine would not know it.
            if not head.workload.preempting and not head.workload.surplus_of:
                self._mark(self._queues[head.queue.name], head.workload, True)

    def _mark(self, queue: PendingQueue, workload: Workload, preempting: bool) -> None:
        # Removed before and put after, as its position in the queue depends on the mark.
        queue.remove(workload)
        marked = replace(workload, preempting=preempting)
        queue.put(marked, tried=self._tried)
        self._group.touch(queue.queue.name)
        self._group.nominations.renew(workload, marked)
        self._changes.mark(marked)
