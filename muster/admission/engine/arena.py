"""The queues that contend for the same quota or the same nodes, and their cycles until nothing changes.

Cycles run in passes. A pass starts with everybody free to try; in each of its cycles the head of
every queue has a turn, and those that can not be had are parked until the next pass. When a whole
pass changes nothing, another one would do the same: the arena is settled until something happens
in it. So what is decided does not depend on what was tried before; only that newcomers are settled
first, and those who were parked after the last decision join them then (Rules.immediate_unparking).

Kueue parks workloads for longer, and un-parks those of a cohort tree when something in it frees
quota (pkg/cache/queue/inadmissible_workloads.go). Here most of those that would try again in vain
are known beforehand (engine/prospects.py); their queues are passed over as if they had tried.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from muster.admission.cycle.cycle import Cycle
from muster.admission.cycle.entry import REQUEUE, Entry, Outcome
from muster.admission.engine.changes import Changes
from muster.admission.engine.prospects import Prospect
from muster.admission.engine.scans import SCANS_MAX, Scans
from muster.admission.engine.turns import Ranked, Turns
from muster.admission.model import Workload
from muster.admission.queueing.groups import Group
from muster.admission.queueing.pending import PendingQueue
from muster.admission.queueing.requeue import Requeue
from muster.admission.rules.aging import next_rise_ms
from muster.admission.rules.backfill import LEADERS_MAX, Backfill
from muster.admission.rules.remark import Remark, earliest
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState

_UNCHECKED = 100  # passes, or cycles of one, before it is worked out how many there can be at most


class Arena:
    """`names` are those of all queues, `queues` the active ones; `heads` says what became of the heads in
    the last pass."""

    __slots__ = (
        "_changes",
        "_everybody",
        "_moved",
        "_now_ms",
        "_open",
        "_scans",
        "_state",
        "_tried",
        "_turns",
        "_waiting",
        "backfill",
        "heads",
        "names",
        "placing",
        "queues",
    )

    def __init__(self, state: WorkingState, names: tuple[str, ...], queues: Iterable[PendingQueue]) -> None:
        self._state = state
        self.names = names
        self.queues = {queue.queue.name: queue for queue in queues}
        self.heads: dict[str, Entry] = {}  # by the workloads' keys
        self._waiting: set[str] = set()  # those of them who wait for their victims
        self.placing: dict[str, Holding] = {}  # who has quota, but no places yet on its topology
        self._turns = Turns(state, self.queues)
        self._scans = Scans()
        # of the decision, the pass and the cycle under way
        self._changes: Changes
        self._now_ms: int
        self._tried: bool  # whoever is put back is parked after this decision
        self._everybody: bool  # has a turn now, or only those who are not parked
        self._open: list[PendingQueue]
        self._moved: bool  # something has, in this cycle
        self.backfill = Backfill(state, names) if state.rules.backfill else None
        if state.rules.aging is not None:
            for queue in self.queues.values():
                queue.rise = state.rise_now

    def touch(self, queue: str) -> None:
        """Something happened to the pending workloads of this queue."""
        self._turns.openings.changed(queue)

    def settle(self, changes: Changes, now_ms: int) -> bool:
        """Decides until nothing changes; what changed goes to `changes`. False if the next decision has to
        look again: those who are parked by now keep no quota from the others, who are tried alone then.

        Kueue tries the parked ones a moment after all others, together (UpdateInadmissible…): whoever
        is not parked may be let in before them, whatever their priority.
        """
        self._changes, self._now_ms, self._tried = changes, now_ms, False
        before = changes.count
        some_parked = any(queue.parked for queue in self.queues.values())
        if some_parked and self._are_tried_apart():
            self._settle(everybody=False)
        self._tried = some_parked
        if some_parked:  # from now on all are one
            self._park()
        self._settle(everybody=True)
        if not some_parked:
            self._park()
        return changes.count == before or not (self._turns.keep and self._are_tried_apart())

    def _are_tried_apart(self) -> bool:
        """Whether some are not parked, and are tried before those who are."""
        return not self._state.rules.immediate_unparking and any(q.fresh for q in self.queues.values())

    def _park(self) -> None:
        for queue in self.queues.values():
            queue.park()

    def _settle(self, everybody: bool) -> None:
        self._everybody = everybody
        passes = 1
        while self._pass():
            assert passes < _UNCHECKED or passes < self._moves_max(), f"not settled after {passes} passes"
            passes += 1

    def _moves_max(self) -> int:
        """More passes, or cycles in one, can't be."""
        holdings = self._state.holdings
        moves = sum(len(holdings[name]) + len(queue) for name, queue in self.queues.items())
        return (10 + 4 * moves) * (1 + SCANS_MAX)

    def _pass(self) -> bool:
        """Whether anything changed. It ends early when something was freed: all may try again."""
        self.heads.clear()
        self._waiting.clear()
        self._scans.clear()
        changed = self._changes.count
        self._open = self._turns.worth_opening(self._everybody)
        for queue in self._open:
            queue.open(self._everybody)
        number = 0
        while self._cycle(number):
            assert number < _UNCHECKED or number < self._moves_max(), f"not over after {number} cycles"
            number += 1
        self._mark_preemptors()
        return self._changes.count != changed

    def _cycle(self, number: int) -> bool:
        """Whether another one is to follow in this pass."""
        freed = self._changes.freed
        if self.backfill is not None:
            self.backfill.reserve([queue.leaders(LEADERS_MAX) for queue in self.queues.values()])
        taken, self._moved = self._turns.take(self._open, self._is_passed)
        again = [] if number else self._to_be_placed()
        cycle = Cycle(self._state, number, self._now_ms, self.backfill)
        plain = None if again else self._turns.plain(taken, self._waiting)
        if plain is None:
            heads = [*(self._entry(queue, prospect) for queue, prospect, _ in taken), *again]
            cycle.run(heads)
            for head in heads:
                self._conclude(head)
        else:
            self._let_in(cycle, plain)
        return self._moved and self._changes.freed == freed

    def _let_in(self, cycle: Cycle, plain: Iterable[Ranked]) -> None:
        """Those for whom others leave room."""
        for _, queue, prospect in plain:
            if prospect.fits():
                head = self._entry(queue, prospect)
                cycle.take(head)
                self._conclude(head)
                self._turns.openings.refresh()

    def _to_be_placed(self) -> list[Entry]:
        queue = self._state.queue
        return [Entry(held.workload, queue(held.node.name), held.node) for held in self.placing.values()]

    def _entry(self, queue: PendingQueue, prospect: Prospect) -> Entry:
        workload = queue.head()
        assert workload is not None
        preempting = workload.preempting or workload.key in self._waiting
        entry = Entry(workload, queue.queue, queue.node, preempting)
        entry.recall = prospect.recall
        entry.risen = self._state.rise(workload, self._now_ms)
        last = self.heads.get(workload.key)
        if last is not None:
            entry.scan = last.scan
        return entry

    def until_ms(self) -> int | None:
        """When it is to be settled again, even if nothing happens."""
        moments = [head.remark.until_ms for head in self.heads.values() if head.remark is not None]
        if self.backfill is not None:
            moments.append(self.backfill.next_end_ms)
        tenure = self._state.tenure
        if tenure is not None:  # also for those who were passed over without a search for victims
            standing = (self._state.holdings[name].values() for name in self.names)
            moments.append(tenure.next_end_ms(chain.from_iterable(standing)))
        aging = self._state.rules.aging
        if aging is not None:
            moments += (
                next_rise_ms(aging, queue.first(group).queued_at_ms, self._now_ms)
                for queue in self.queues.values()
                for group in queue.groups
            )
        return earliest(*moments)

    def remark(self, workload: Workload, group: Group) -> Remark | None:
        """What a rule of ours says to a pending workload, or to the first of those that are alike."""
        queue = self.queues[workload.cluster_queue]
        reserved = self.backfill and self.backfill.reserved(queue.queue.name)
        if reserved and reserved.leader.workload is workload:
            return reserved.remark
        head = self.heads.get(workload.key) or self.heads.get(queue.first(group).key)
        return None if head is None else head.remark

    def _conclude(self, head: Entry) -> None:
        before = self._changes.count
        if head.outcome is Outcome.ADMITTED:
            self._admit(head)
        elif head.outcome is Outcome.NOT_REPLACED:
            self._changes.displace(self._state, self.placing.pop(head.workload.key))
        elif head.outcome is Outcome.PREEMPTING:
            self._send_away(head)
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
        goes_on = self._scans.goes_on(head)
        if queue.requeue_head(REQUEUE[head.outcome], goes_on, self._is_passed(queue)):
            self._moved = True
        self._moved |= goes_on

    def _is_passed(self, queue: PendingQueue) -> bool:
        """Whether others may go before its head, as they can not delay it."""
        return self.backfill is not None and self.backfill.reserved(queue.queue.name) is not None

    def _admit(self, head: Entry) -> None:
        key = head.workload.key
        self.heads.pop(key, None)
        self._waiting.discard(key)
        if head.workload.admission is None:
            self.queues[head.queue.name].admit_head()
        self.placing.pop(key, None)
        self._changes.admit(head, self._state.holdings[head.queue.name][key])

    def _send_away(self, head: Entry) -> None:
        for target in head.targets:
            back = self._changes.send_away(self._state, target, head.workload)
            if back is not None:
                self.queues[back.cluster_queue].put(back, tried=self._tried)
                self.touch(back.cluster_queue)

    def _mark_preemptors(self) -> None:
        """Who waits for victims stands first from now on, and who does not any more no longer does."""
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
