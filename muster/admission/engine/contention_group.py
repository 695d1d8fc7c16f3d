"""The queues that contend for the same quota or the same nodes, and their cycles until nothing changes.

Cycles run in passes. At the start of a pass all workloads may be tried; each cycle tries the head of every
queue, and heads that cannot be admitted are parked until the next pass. When a whole pass changes nothing,
another one would do the same: the group is settled until something happens in it. So decisions do not
depend on what was tried before, except that new workloads are settled first; those that the last decision
parked join them afterwards (Rules.immediate_unparking).

Kueue parks workloads for longer, and un-parks those of a cohort tree when something in it frees
quota (pkg/cache/queue/inadmissible_workloads.go). Here pruning knows most workloads that would be tried in
vain (muster/admission/pruning); their queues are skipped as if they had been tried.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from muster.admission.cycle.cycle import Cycle
from muster.admission.cycle.entry import REQUEUE, Entry, Outcome
from muster.admission.engine.changes import Changes
from muster.admission.engine.heads import SCANS_MAX, FlavorScans, HeadSelector, Ranked
from muster.admission.explain import Explainer
from muster.admission.model import Waiting, Workload
from muster.admission.pruning.protocol import GroupEstimate, Pruning
from muster.admission.queueing.groups import EquivalenceGroup
from muster.admission.queueing.pending import PendingQueue
from muster.admission.queueing.requeue import Requeue
from muster.admission.rules.backfill import BLOCKED_HEADS_MAX, Backfill
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState
from muster.admission.wait_note import WaitNote, earliest

_UNCHECKED = 100  # passes, or cycles of one, before the most that there can be is computed


class ContentionGroup:
    """`names` are those of all queues, `queues` the active ones by name; `heads` are the entries of the last
    pass, by the workloads' keys."""

    __slots__ = (
        "_changes",
        "_include_parked",
        "_moved",
        "_now_ms",
        "_open",
        "_scans",
        "_selector",
        "_state",
        "_tried",
        "_waiting",
        "backfill",
        "heads",
        "names",
        "placing",
        "queues",
    )

    def __init__(
        self,
        state: WorkingState,
        names: tuple[str, ...],
        queues: Iterable[PendingQueue],
        pruning: type[Pruning],
    ) -> None:
        self._state = state
        self.names = names
        self.queues = {queue.queue.name: queue for queue in queues}
        self.heads: dict[str, Entry] = {}
        self._waiting: set[str] = set()  # those of `heads` that wait for their victims
        self.placing: dict[str, Holding] = {}  # with quota, but without places on its topology
        self._selector = HeadSelector(state, self.queues, pruning)
        self._scans = FlavorScans()
        # Set by the decision, the pass and the cycle that run.
        self._changes: Changes
        self._now_ms: int
        self._tried: bool  # whether workloads that return to a queue are parked after this decision
        self._include_parked: bool  # whether parked workloads are tried now
        self._open: list[PendingQueue]
        self._moved: bool  # whether this cycle has changed anything
        self.backfill = Backfill(state, names) if state.rules.backfill else None

    def touch(self, queue: str) -> None:
        """Notes that pending workloads of this queue have changed."""
        self._selector.pruning.changed(queue)

    def settle(self, changes: Changes, now_ms: int) -> bool:
        """Decides until nothing changes and records it in `changes`. Returns False if the next decision has
        to try again: workloads that are parked by now keep no quota from the others, which are tried alone
        then.

        Kueue tries the parked ones together, a moment after all others (UpdateInadmissible…): a workload
        that is not parked may be admitted before them, whatever their priority.
        """
        self._changes, self._now_ms, self._tried = changes, now_ms, False
        before = changes.count
        some_parked = any(queue.parked for queue in self.queues.values())
        if some_parked and self._are_tried_apart():
            self._settle(include_parked=False)
        self._tried = some_parked
        if some_parked:  # from now on none is tried apart
            self._park()
        self._settle(include_parked=True)
        if not some_parked:
            self._park()
        return changes.count == before or not (self._selector.keep_quota and self._are_tried_apart())

    def _are_tried_apart(self) -> bool:
        """Whether workloads that are not parked are tried before those that are."""
        return not self._state.rules.immediate_unparking and any(q.fresh for q in self.queues.values())

    def _park(self) -> None:
        for queue in self.queues.values():
            queue.park()

    def _settle(self, include_parked: bool) -> None:
        self._include_parked = include_parked
        passes = 1
        while self._pass():
            assert passes < _UNCHECKED or passes < self._moves_max(), f"not settled after {passes} passes"
            passes += 1

    def _moves_max(self) -> int:
        """The most passes that there can be, or cycles in one."""
        holdings = self._state.holdings
        moves = sum(len(holdings[name]) + len(queue) for name, queue in self.queues.items())
        return (10 + 4 * moves) * (1 + SCANS_MAX)

    def _pass(self) -> bool:
        """Returns whether anything changed. Ends early when something was freed: all are tried again."""
        self.heads.clear()
        self._waiting.clear()
        self._scans.clear()
        changed = self._changes.count
        self._open = self._selector.queues_to_open(self._include_parked)
        for queue in self._open:
            queue.open(self._include_parked)
        number = 0
        while self._cycle(number):
            assert number < _UNCHECKED or number < self._moves_max(), f"not over after {number} cycles"
            number += 1
        self._mark_preemptors()
        return self._changes.count != changed

    def _cycle(self, number: int) -> bool:
        """Returns whether another cycle follows in this pass."""
        freed = self._changes.freed
        if self.backfill is not None:
            # In every cycle again: what the last one admitted changes when heads fit.
            self.backfill.reserve(
                [queue.first_workloads(BLOCKED_HEADS_MAX) for queue in self.queues.values()]
            )
        taken, self._moved = self._selector.take(self._open, self._is_passed)
        # Workloads that hold quota need places only, and are tried once a pass: where nodes are freed,
        # another pass follows.
        placing = [] if number else self._to_be_placed()
        cycle = Cycle(self._state, number, self._now_ms, self.backfill)
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

    def _admit_in_order(self, cycle: Cycle, decided: Iterable[Ranked]) -> None:
        """Admits, in order, the heads for which those before them leave room."""
        for _, queue, feasibility in decided:
            if feasibility.fits():
                head = self._entry(queue, feasibility)
                cycle.take(head)
                self._conclude(head)
                # The next head's estimate depends on what this one has taken.
                self._selector.pruning.refresh()

    def _to_be_placed(self) -> list[Entry]:
        queue = self._state.queue
        return [Entry(held.workload, queue(held.node.name), held.node) for held in self.placing.values()]

    def _entry(self, queue: PendingQueue, feasibility: GroupEstimate) -> Entry:
        workload = queue.head()
        assert workload is not None
        preempting = workload.preempting or workload.key in self._waiting
        entry = Entry(workload, queue.queue, queue.node, preempting)
        entry.assignment_cache = feasibility.assignment_cache
        entry.priority_boost = self._state.priority_boost(workload, self._now_ms)
        last = self.heads.get(workload.key)
        if last is not None:
            entry.scan = last.scan
        return entry

    def until_ms(self) -> int | None:
        """When it is to be settled again even if nothing happens."""
        moments = [head.note.until_ms for head in self.heads.values() if head.note is not None]
        if self.backfill is not None:
            moments.append(self.backfill.next_end_ms)
        min_runtime = self._state.min_runtime
        if min_runtime is not None:  # also for workloads that pruning skipped, without a search for victims
            holdings = (self._state.holdings[name].values() for name in self.names)
            moments.append(min_runtime.next_end_ms(chain.from_iterable(holdings)))
        aging = self._state.rules.aging
        if aging is not None:
            moments += (
                aging.next_boost_ms(queue.first(group).queued_at_ms, self._now_ms)
                for queue in self.queues.values()
                for group in queue.groups
            )
        return earliest(*moments)

    def note(self, workload: Workload, group: EquivalenceGroup) -> WaitNote | None:
        """The note of an optional rule for a pending workload, or for the first one of its equivalence
        group."""
        queue = self.queues[workload.cluster_queue]
        reserved = self.backfill and self.backfill.reserved(queue.queue.name)
        if reserved and reserved.blocked_head.workload is workload:
            return reserved.note
        head = self.heads.get(workload.key) or self.heads.get(queue.first(group).key)
        return None if head is None else head.note

    def waiting(self, workload: Workload, explainer: Explainer) -> Waiting:
        """Why a pending workload of an active queue waits, as of the last pass."""
        group, behind = self.queues[workload.cluster_queue].place(workload)
        note = self.note(workload, group) if behind is None else None
        return explainer.pending(workload, self.heads.get(workload.key), behind, group, note)

    def _conclude(self, head: Entry) -> None:
        before = self._changes.count
        if head.outcome is Outcome.ADMITTED:
            self._admit(head)
        elif head.outcome is Outcome.NOT_REPLACED:
            self._changes.displace(self._state, self.placing.pop(head.workload.key))
        elif head.outcome is Outcome.PREEMPTING:
            self._preempt(head)
        if self._changes.count != before:
            self._moved = True
            self._scans.clear()
        if head.outcome is not Outcome.ADMITTED and head.workload.admission is None:
            self._put_back(head)

    def _put_back(self, head: Entry) -> None:
        self.heads[head.workload.key] = head
        if REQUEUE[head.outcome] is Requeue.PENDING_PREEMPTION:
            self._waiting.add(head.workload.key)
        else:
            self._waiting.discard(head.workload.key)
        queue = self.queues[head.queue.name]
        continues = self._scans.continues(head)
        if queue.requeue_head(REQUEUE[head.outcome], continues, self._is_passed(queue)):
            self._moved = True
        self._moved |= continues

    def _is_passed(self, queue: PendingQueue) -> bool:
        """Whether others may be admitted before its head, as room is reserved for it."""
        return self.backfill is not None and self.backfill.reserved(queue.queue.name) is not None

    def _admit(self, head: Entry) -> None:
        key = head.workload.key
        self.heads.pop(key, None)
        self._waiting.discard(key)
        if head.workload.admission is None:
            self.queues[head.queue.name].admit_head()
        self.placing.pop(key, None)
        self._changes.admit(head, self._state.holdings[head.queue.name][key])

    def _preempt(self, head: Entry) -> None:
        for target in head.targets:
            back = self._changes.preempt(self._state, target, head.workload)
            if back is not None:
                self.queues[back.cluster_queue].put(back, tried=self._tried)
                self.touch(back.cluster_queue)

    def _mark_preemptors(self) -> None:
        """Moves workloads that wait for their victims to the front of the queue; unmarks the rest."""
        waiting = self._waiting
        for queue in [queue for queue in self.queues.values() if queue.preemptors]:
            for workload in [one for key, one in queue.preemptors.items() if key not in waiting]:
                if workload.key not in self._changes.unmarked:
                    self._changes.unmarked.add(workload.key)
                    self._mark(queue, workload, False)
        for key in waiting:
            head = self.heads[key]
            if not head.workload.preempting:
                self._mark(self.queues[head.queue.name], head.workload, True)

    def _mark(self, queue: PendingQueue, workload: Workload, preempting: bool) -> None:
        queue.remove(workload)
        marked = replace(workload, preempting=preempting)
        queue.put(marked, tried=self._tried)
        self.touch(queue.queue.name)
        self._changes.mark(marked)
