"""Cycles over a contention group until nothing changes.

Cycles run in passes. At the start of a pass all workloads may be tried; each cycle tries the head of every
queue, and heads that cannot be admitted are parked until the next pass. When a whole pass changes nothing,
another one would do the same: the group is settled until something happens in it. So decisions do not
depend on what was tried before, except that new workloads are settled first; those that the last decision
parked join them afterwards (Rules.immediate_unparking).

Kueue parks workloads for longer, and un-parks those of a cohort tree when something in it frees
quota (pkg/cache/queue/inadmissible_workloads.go). Here pruning knows most workloads that would be tried in
vain (muster/admission/pruning); their queues are skipped as if they had been tried.
"""

from collections.abc import Container, Iterable
from dataclasses import replace

from muster.admission.cycle.cycle import Cycle
from muster.admission.cycle.entry import REQUEUE, Entry, EntryOutcome
from muster.admission.engine.changes import Changes
from muster.admission.engine.contention import ContentionGroup
from muster.admission.engine.heads import SCANS_MAX, FlavorScans, Head
from muster.admission.model import Workload
from muster.admission.pruning.protocol import GroupEstimate
from muster.admission.queueing.pending import PendingQueue
from muster.admission.queueing.requeue import RequeueReason
from muster.admission.rules.backfill import BLOCKED_HEADS_MAX
from muster.admission.wait_note import earliest

_UNCHECKED = 100  # passes, or cycles of one, before the most that there can be is computed


def settle(group: ContentionGroup, changes: Changes, now_ms: int, unpark: bool = True) -> bool:
    """Decides until nothing changes and records it in `changes`. Returns False if the next decision has
    to try again: workloads that are parked by now keep no quota from the others, which are tried alone
    then; or those that were admitted have started by then, and are protected from preemption.

    Kueue tries the parked ones together, a moment after all others (UpdateInadmissible…): a workload
    that is not parked may be admitted before them, whatever their priority. Without `unpark` that moment has
    not come yet, and parked ones are left to a later decision.
    """
    settlement = _Settlement(group, changes, now_ms)
    return settlement.run() if unpark else settlement.run_without_parked()


class _Settlement:
    """The passes and cycles of one decision. Its results outlast it in the group: `heads`, and what is parked
    in which queue."""

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
        self._waiting: set[str] = set()  # those of the heads that wait for their victims
        self._scans = FlavorScans()
        self._tried = False  # whether workloads that return to a queue are parked after this decision
        # Set by the pass and the cycle that run.
        self._include_parked: bool  # whether parked workloads are tried now
        self._open: list[PendingQueue]
        self._moved: bool  # whether this cycle has changed anything

    def run(self) -> bool:
        if not self._group.is_waiting:
            self._begin_pass()
            return True
        before = self._changes.count
        some_parked = any(queue.parked for queue in self._occupied)
        if some_parked and self._are_tried_apart():
            self._settle(include_parked=False)
        # What this decision takes back was tried by it as well as the parked ones, and joins them.
        self._tried = some_parked
        if some_parked:  # from now on none is tried apart
            self._park()
        self._settle(include_parked=True)
        if not some_parked:
            self._park()
        if self._state.min_runtime is not None and self._state.min_runtime.begins:
            return False
        return self._changes.count == before or not (self._selector.keep_quota and self._are_tried_apart())

    def run_without_parked(self) -> bool:
        """Tries workloads that are not parked, and parks those that stay."""
        if not self._group.is_waiting:
            return self.run()
        self._tried = True
        self._settle(include_parked=False)
        self._park()
        return False

    def _are_tried_apart(self) -> bool:
        """Whether workloads that are not parked are tried before those that are."""
        return not self._state.rules.immediate_unparking and any(queue.fresh for queue in self._occupied)

    def _park(self) -> None:
        for queue in self._occupied:
            queue.park()

    def _settle(self, include_parked: bool) -> None:
        self._include_parked = include_parked
        passes = 1
        while self._pass():
            if not self._group.is_waiting:
                self._begin_pass()  # else the group would keep what the last pass found
                return
            assert passes < _UNCHECKED or passes < self._moves_max(), f"not settled after {passes} passes"
            passes += 1

    def _moves_max(self) -> int:
        """The most passes that there can be, or cycles in one."""
        holdings = self._state.holdings
        moves = sum(len(holdings[name]) + len(queue) for name, queue in self._queues.items())
        return (10 + 4 * moves) * (1 + SCANS_MAX)

    def _pass(self) -> bool:
        """Returns whether anything changed. Ends early when something was freed: all are tried again."""
        self._begin_pass()
        changed = self._changes.count
        self._open = self._selector.queues_to_open(self._include_parked)
        for queue in self._open:
            queue.open(self._include_parked)
        number = 0
        # Most passes find nothing that may be admitted.
        while (self._open or self._placing) and self._cycle(number) and self._occupied:
            assert number < _UNCHECKED or number < self._moves_max(), f"not over after {number} cycles"
            number += 1
        self._mark_preemptors()
        return self._changes.count != changed

    def _begin_pass(self) -> None:
        self._heads.clear()
        self._waiting.clear()
        self._scans.clear()
        if self._state.min_runtime is not None:
            self._state.min_runtime.begins = False
        self._reserve()

    def _reserve(self) -> None:
        if self._backfill is not None:
            heads = [queue.first_workloads(BLOCKED_HEADS_MAX) for queue in self._occupied]
            self._backfill.reserve(heads)

    def _cycle(self, number: int) -> bool:
        """Returns whether another cycle follows in this pass."""
        freed = self._changes.freed
        if number:
            self._reserve()  # again: what the last cycle admitted changes when heads fit
        taken, self._moved = self._selector.take(self._open, self._group.is_passed)
        # Workloads that hold quota need places only, and are tried once a pass: where nodes are freed,
        # another pass follows.
        placing = [] if number else self._to_be_placed()
        if not taken and not placing:
            return self._moved
        cycle = Cycle(self._state, number, self._now_ms, self._backfill)
        decided = None if placing else self._selector.decided_by_room(taken, self._waiting)
        if decided is None:
            heads = [*(self._entry(queue, feasibility) for queue, feasibility, _ in taken), *placing]
            cycle.run(heads)
            for head in heads:
                self._conclude(head)
        else:
            self._admit_in_order(cycle, decided)
        # Where something was freed, parked workloads may fit: the pass ends, and the next one tries all.
        return self._moved and self._changes.freed == freed

    def _admit_in_order(self, cycle: Cycle, decided: Iterable[Head]) -> None:
        """Admits, in order, the heads for which those before them leave room."""
        pruning = self._selector.pruning
        possible: Container[PendingQueue] | None = None  # once one was left out
        for queue, feasibility, _ in decided:
            if possible is not None and queue not in possible:
                continue
            if feasibility.fits():
                head = self._entry(queue, feasibility)
                cycle.admit_fitting(head)
                self._conclude(head)
                # The next head's estimate depends on what this one has taken.
                pruning.refresh()
            elif possible is None:
                possible = pruning.possible()

    def _to_be_placed(self) -> list[Entry]:
        queue = self._state.queue
        return [Entry(held.workload, queue(held.node.name), held.node) for held in self._placing.values()]

    def _entry(self, queue: PendingQueue, feasibility: GroupEstimate) -> Entry:
        workload = queue.head()
        assert workload is not None
        # The object is marked only at the end of the pass, but the order of heads goes by the last cycle.
        preempting = workload.preempting or workload.key in self._waiting
        entry = Entry(workload, queue.queue, queue.node, preempting)
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
            # Flavors that were tried before the change may have room now: no scan is at its end any more.
            self._scans.clear()
        if head.outcome is not EntryOutcome.ADMITTED and head.workload.admission is None:
            self._put_back(head)

    def _put_back(self, head: Entry) -> None:
        last = self._heads.get(head.workload.key)
        if last is not None:  # an earlier cycle of this pass tried other flavors: a rule may hold it there
            head.note = head.note or last.note
            head.until_ms = earliest(head.until_ms, last.until_ms)
        self._heads[head.workload.key] = head
        if REQUEUE[head.outcome] is RequeueReason.PENDING_PREEMPTION:
            self._waiting.add(head.workload.key)
        else:
            self._waiting.discard(head.workload.key)
        queue = self._queues[head.queue.name]
        continues = self._scans.continues(head)
        if queue.requeue_head(REQUEUE[head.outcome], continues, self._group.is_passed(queue)):
            self._moved = True
        self._moved |= continues

    def _admit(self, head: Entry) -> None:
        key = head.workload.key
        self._heads.pop(key, None)
        self._waiting.discard(key)
        if head.workload.admission is None:
            self._queues[head.queue.name].admit_head()
        self._placing.pop(key, None)
        self._changes.admit(head, self._state.holdings[head.queue.name][key])

    def _preempt(self, head: Entry) -> None:
        for target in head.targets:
            back = self._changes.preempt(self._state, target, head.workload)
            if back is not None:
                self._queues[back.cluster_queue].put(back, tried=self._tried)
                self._group.touch(back.cluster_queue)

    def _mark_preemptors(self) -> None:
        """Moves workloads that wait for their victims to the front of the queue; unmarks the rest."""
        waiting = self._waiting
        for queue in [queue for queue in self._occupied if queue.preemptors]:
            for workload in [one for key, one in queue.preemptors.items() if key not in waiting]:
                # At most once in a decision: a workload that finds victims in one pass and none in the next
                # would be marked and unmarked in turn, and no pass would be the last.
                if workload.key not in self._changes.unmarked:
                    self._changes.unmarked.add(workload.key)
                    self._mark(queue, workload, False)
        for key in waiting:
            head = self._heads[key]
            if not head.workload.preempting:
                self._mark(self._queues[head.queue.name], head.workload, True)

    def _mark(self, queue: PendingQueue, workload: Workload, preempting: bool) -> None:
        # Its place in the queue depends on the mark: it is removed with the old one and put with the new one.
        queue.remove(workload)
        marked = replace(workload, preempting=preempting)
        queue.put(marked, tried=self._tried)
        self._group.touch(queue.queue.name)
        self._changes.mark(marked)
