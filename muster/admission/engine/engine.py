"""The engine: keeps the working state from one decision to the next and takes what changed.

A fresh engine with the same objects decides the same: nothing that an engine remembers goes beyond
its objects, as they are once its plans are carried out. It takes every plan for carried out at
once; where that failed, the object is to be put again as it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from heapq import heappop, heappush

from muster.admission.engine.arena import Arena
from muster.admission.engine.changes import Changes
from muster.admission.engine.contention import arenas
from muster.admission.engine.verdicts import why_it_waits
from muster.admission.explain import Explainer
from muster.admission.flavors.topology import needs_second_pass
from muster.admission.model import (
    Decision,
    Plan,
    Rules,
    Snapshot,
    StopPolicy,
    Waiting,
    Workload,
)
from muster.admission.queueing.backoff import is_held_back
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState
from muster.admission.validation import check, check_rules, check_workload


class Engine:
    """Times must not go back from one call to the next. Every method raises SnapshotError for input
    that contradicts itself, and then has changed nothing."""

    def __init__(self, snapshot: Snapshot, rules: Rules = Rules()) -> None:  # noqa: B008 - a frozen value
        check_rules(rules)
        self._rules = rules
        self.load(snapshot)

    def load(self, snapshot: Snapshot) -> None:
        """Starts afresh. For whatever changes but workloads: most of it concerns all of a cohort tree."""
        check(snapshot)
        self._objects = replace(snapshot, workloads=())
        self._state = WorkingState(self._objects, self._rules)
        self._arenas = {name: arena for arena in arenas(self._state) for name in arena.names}
        self._draining = [
            name
            for name, queue in sorted(snapshot.cluster_queues.items())
            if queue.stop is StopPolicy.HOLD_AND_DRAIN
        ]
        self._workloads: dict[str, Workload] = {}
        self._admitted: dict[str, Holding] = {}  # those of them whose quota they do not show yet
        self._aside: set[str] = set()  # pending ones that stand in no queue
        self._due: list[tuple[int, str]] = []  # who is held back, and until when
        self._alarms: list[tuple[int, tuple[str, ...]]] = []  # when time alone may change what is decided
        self._touched: dict[Arena, None] = dict.fromkeys(self._arenas.values())
        self._settled: tuple[Arena, ...] = ()  # by the last decision
        self._news: set[str] = set()  # who is pending since the last decision
        for workload in snapshot.workloads:
            self._take(workload)

    @property
    def snapshot(self) -> Snapshot:
        """All objects as they are once the last plan is carried out."""
        parked: set[str] = set()
        for name, arena in self._arenas.items():
            if name in arena.queues:
                parked |= arena.queues[name].parked
        workloads = [self._now(key) for key in self._workloads]
        return replace(
            self._objects,
            workloads=tuple(
                one if one.parked is (one.key in parked) else replace(one, parked=one.key in parked)
                for one in workloads
            ),
        )

    def put(self, workload: Workload) -> None:
        """A new workload, or one that has changed in whatever way."""
        known = self._known(workload.key)
        if (known is workload or known == workload) and self._stands_as(workload):
            return
        check_workload(workload)
        if known is not None:
            self._drop(known)
        self._take(workload)

    def remove(self, key: str) -> None:
        """A workload that is finished or gone; nothing happens if it is not known."""
        known = self._known(key)
        if known is not None:
            self._drop(known)

    def decide(self, now_ms: int) -> Plan:
        """What changes now. `waiting` tells of those who are pending since the last decision, or for
        whom others are preempted; what the others wait for may have changed with every decision and
        is told by `waiting`."""
        self._state.begin(now_ms)
        self._wake(now_ms)
        drained = self._drain()
        changes = Changes()
        unsettled: list[Arena] = []
        for arena in sorted(self._touched, key=lambda arena: arena.names):
            if not arena.settle(changes, now_ms):
                unsettled.append(arena)
            until_ms = arena.until_ms()
            if until_ms is not None:
                heappush(self._alarms, (until_ms, arena.names))
        self._settled = tuple(self._touched)
        self._touched = dict.fromkeys(unsettled)
        self._carry_out(changes)
        news = (self._news | changes.marked.keys()) & self._workloads.keys()
        self._news = set()
        return Plan(
            admissions=tuple(
                Decision(key, holding.admission)
                for key, holding in changes.admitted.items()
                if holding.admission is not None
            ),
            preemptions=tuple(preemption for _, preemption in changes.evicted),
            waiting=tuple(self.waiting(now_ms, sorted(news))),
            drained=drained,
            replaced=tuple(holding.workload.key for holding in changes.replaced.values()),
            displaced=tuple(holding.workload.key for holding in changes.displaced),
        )

    @property
    def settled(self) -> bool:
        """Whether another decision at the same time would change nothing. It may, where workloads that are
        not parked are tried alone then, and for those that the last decision took back too often."""
        return not self._touched

    def affected(self) -> Iterator[str]:
        """Keys of those, beside the ones that the last plan tells of, who may wait for something else
        since then."""
        for arena in self._settled:
            for queue in arena.queues.values():
                yield from queue.keys()

    def waiting(self, now_ms: int, keys: Iterable[str] | None = None) -> Iterator[Waiting]:
        """Why they wait, as of the last decision, for these or for all that are pending."""
        explainer = Explainer(self._state, now_ms)
        for key in sorted(self._workloads) if keys is None else keys:
            workload = self._workloads[key]
            if workload.admission is None and key not in self._admitted:
                yield explainer.not_queued(workload) or why_it_waits(
                    self._arenas[workload.cluster_queue], explainer, workload, self._rules.aging
                )

    def _take(self, workload: Workload) -> None:
        self._workloads[workload.key] = workload
        if workload.admission is None:
            self._enqueue(workload)
        elif (arena := self._arenas.get(workload.admission.cluster_queue)) is not None:
            holding = self._state.hold_reserved(workload, workload.admission)
            if self._rules.topology and needs_second_pass(workload):
                arena.placing[workload.key] = holding
            self._touch(arena)

    def _stands_as(self, workload: Workload) -> bool:
        """Whether one that is known is parked, or not, as it is to be."""
        arena = self._arenas.get(workload.cluster_queue)
        queue = arena.queues.get(workload.cluster_queue) if arena is not None else None
        return workload.admission is not None or queue is None or queue.stands_as(workload)

    def _enqueue(self, workload: Workload) -> None:
        """Into its queue, unless it has to wait for something else than quota."""
        self._news.add(workload.key)
        if workload.requeue_at_ms is not None:
            heappush(self._due, (workload.requeue_at_ms, workload.key))
            self._aside.add(workload.key)
        else:
            self._line_up(workload)

    def _line_up(self, workload: Workload) -> None:
        arena = self._arenas.get(workload.cluster_queue)
        if arena is None or workload.cluster_queue not in arena.queues:
            self._aside.add(workload.key)
        else:
            arena.queues[workload.cluster_queue].put(workload, tried=workload.parked)
            self._touch(arena, workload.cluster_queue)

    def _wake(self, now_ms: int) -> None:
        """Those whose backoff has ended line up, and where a rule of ours waits for this moment all are
        tried."""
        while self._alarms and self._alarms[0][0] <= now_ms:
            _, names = heappop(self._alarms)
            self._touch(self._arenas[names[0]])
        while self._due and self._due[0][0] <= now_ms:
            _, key = heappop(self._due)
            workload = self._workloads.get(key)
            if key in self._aside and workload is not None and not is_held_back(workload, now_ms):
                self._aside.remove(key)
                self._line_up(workload)

    def _drain(self) -> tuple[str, ...]:
        """Who is to leave a queue with HoldAndDrain and is not leaving already."""
        drained = [
            holding
            for name in self._draining
            for holding in self._state.holdings[name].values()
            if not holding.evicted
        ]
        for holding in drained:
            self._state.evict(holding)
            self._touch(self._arenas[holding.node.name])
            self._is_told_to_leave(holding)
        return tuple(sorted(holding.workload.key for holding in drained))

    def _carry_out(self, changes: Changes) -> None:
        """The objects as they are once all of this is written."""
        for workload in changes.barred:  # the next decision tries them, even if nothing happens before
            arena = self._arenas[workload.cluster_queue]
            arena.queues[workload.cluster_queue].put(workload, tried=True)
            self._touch(arena, workload.cluster_queue)
        self._workloads.update(changes.marked)
        for holding in changes.replaced.values():
            self._admitted.pop(holding.workload.key, None)
            del self._workloads[holding.workload.key]
        for holding in changes.admitted.values():
            if holding.evicted:  # it was moved and then preempted: it leaves from where it is
                holding.admission = None
            if holding.workload.admission is not None and self._state.leave_places(holding):
                self._touch(self._arenas[holding.node.name])
            holding.started = True
        self._admitted |= {key: held for key, held in changes.admitted.items() if held.admission is not None}
        for holding in (*changes.displaced, *(victim for victim, _ in changes.evicted)):
            self._is_told_to_leave(holding)

    def _is_told_to_leave(self, holding: Holding) -> None:
        key = holding.workload.key
        holding.workload = self._workloads[key] = replace(self._now(key), evicted=True)

    def _known(self, key: str) -> Workload | None:
        return self._now(key) if key in self._workloads else None

    def _now(self, key: str) -> Workload:
        """One that is known, as it is once the last plan is carried out. With its quota it is made only
        here: most often somebody will put it as it is before anybody asks."""
        holding = self._admitted.pop(key, None)
        if holding is not None:
            holding.workload = self._workloads[key] = replace(
                holding.workload,
                admission=holding.admission,
                reserved_at_ms=holding.reserved_at_ms,
                preempting=False,
                unhealthy_nodes=(),
            )
            holding.admission = None
        return self._workloads[key]

    def _drop(self, workload: Workload) -> None:
        key = workload.key
        del self._workloads[key]
        if workload.admission is None and key in self._aside:
            self._aside.remove(key)
            return
        name = workload.cluster_queue if workload.admission is None else workload.admission.cluster_queue
        arena = self._arenas.get(name)
        if arena is None:
            return
        if workload.admission is None:
            arena.queues[name].remove(workload)
            self._touch(arena, name)
        else:
            self._state.take_back(self._state.holdings[name][key])
            arena.placing.pop(key, None)
            self._touch(arena)

    def _touch(self, arena: Arena, queue: str = "") -> None:
        """It is to be settled; see Arena.touch."""
        self._touched[arena] = None
        if queue:
            arena.touch(queue)
