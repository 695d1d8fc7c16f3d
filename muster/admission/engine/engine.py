"""The engine: keeps the working state from one decision to the next and takes what changed.

A fresh engine with the same objects decides the same: nothing that an engine remembers goes beyond
its objects, as they are once its plans are carried out. It takes every plan for carried out at
once; where that failed, the caller puts the object again as it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from muster.admission.engine.changes import Changes
from muster.admission.engine.contention import contention_groups
from muster.admission.engine.contention_group import ContentionGroup
from muster.admission.engine.known_workloads import KnownWorkloads
from muster.admission.engine.settlement import settle
from muster.admission.engine.timers import Timers
from muster.admission.explain import Explainer
from muster.admission.flavors.placement import needs_second_pass
from muster.admission.model import NEVER_MS, Decision, Plan, Rules, Snapshot, StopPolicy, Waiting, Workload
from muster.admission.pruning.protocol import Pruning
from muster.admission.pruning.wake_index import WakeIndex
from muster.admission.rules import install
from muster.admission.state.state import WorkingState
from muster.admission.validation import check, check_rules, check_workload
from muster.admission.wait_note import earliest

_NOTHING = Plan((), (), ())


class Engine:
    """Keeps the state between decisions. Times must not go back from one call to the next. Every method
    raises SnapshotError for input that contradicts itself, and then has changed nothing."""

    def __init__(
        self,
        snapshot: Snapshot,
        rules: Rules = Rules(),  # noqa: B008 - a frozen value
        pruning: type[Pruning] = WakeIndex,
    ) -> None:
        check_rules(rules)
        self._rules = rules
        self._pruning = pruning
        self.load(snapshot)

    def load(self, snapshot: Snapshot) -> None:
        """Rebuilds the state. For changes of other objects than workloads: most concern a whole cohort
        tree."""
        check(snapshot)
        self._objects = replace(snapshot, workloads=())
        self._state = WorkingState(self._objects, self._rules)
        self._state.bounds_preemption = self._pruning.bounds_preemption
        install(self._state)
        self._groups = {
            name: group for group in contention_groups(self._state, self._pruning) for name in group.names
        }
        self._draining = [
            name
            for name, queue in sorted(snapshot.cluster_queues.items())
            if queue.stop is StopPolicy.HOLD_AND_DRAIN
        ]
        self._workloads = KnownWorkloads()
        self._not_queued: set[str] = set()  # pending, but in no queue
        self._backoffs: Timers[str] = Timers()  # when they end, by workload
        self._timers: Timers[tuple[str, ...]] = Timers()  # when time alone may change decisions, by group
        self._touched: dict[ContentionGroup, None] = dict.fromkeys(self._groups.values())
        self._settled: tuple[ContentionGroup, ...] = ()  # by the last decision
        self._newly_pending: set[str] = set()  # since the last decision
        for workload in snapshot.workloads:
            self._take(workload)

    @property
    def snapshot(self) -> Snapshot:
        """All objects as they are once the last plan is carried out."""
        parked: set[str] = set()
        for name, group in self._groups.items():
            if name in group.queues:
                parked |= group.queues[name].parked
        return replace(
            self._objects,
            workloads=tuple(
                one if one.parked is (one.key in parked) else replace(one, parked=one.key in parked)
                for one in self._workloads
            ),
        )

    def put(self, workload: Workload) -> None:
        """A new workload, or one that has changed in whatever way."""
        known = self._workloads.get(workload.key)
        if (known is workload or known == workload) and self._is_parked_as(workload):
            return
        check_workload(workload)
        if known is not None:
            self._drop(known.key)
        self._take(workload)

    def remove(self, key: str) -> None:
        """A workload that is finished or gone; nothing happens if it is not known."""
        if key in self._workloads:
            self._drop(key)

    def decide(self, now_ms: int, explain: bool = True) -> Plan:
        """Returns what changes now. The plan's `waiting` covers workloads that are pending since the last
        decision, or that wait for victims from now on; why the others wait may change with every decision,
        and `self.waiting` tells it. Without `explain` it is empty: explanations cost more than many
        decisions."""
        # Backoffs and drained queues come first: they change which workloads are pending.
        self._state.begin(now_ms)
        self._wake(now_ms)
        drained = self._drain()
        if not self._touched and not self._newly_pending:
            self._settled = ()
            return _NOTHING
        changes = Changes()
        unsettled: list[ContentionGroup] = []
        for group in sorted(self._touched, key=lambda group: group.names):
            if not settle(group, changes, now_ms):
                unsettled.append(group)
            self._timers.set(group.names, group.until_ms())
        self._settled = tuple(self._touched)
        self._touched = dict.fromkeys(unsettled)
        news = self._newly_pending
        self._newly_pending = set()
        if changes.count:
            self._carry_out(changes)
            news = news | changes.marked.keys()
        elif not news and not drained:
            return _NOTHING
        return Plan(
            admissions=tuple(
                Decision(key, holding.admission)
                for key, holding in changes.admitted.items()
                if holding.admission is not None
            ),
            preemptions=tuple(preemption for _, preemption in changes.evicted),
            waiting=tuple(self.waiting(now_ms, sorted(news))) if explain else (),
            drained=drained,
            replaced=tuple(holding.workload.key for holding in changes.replaced.values()),
            displaced=tuple(holding.workload.key for holding in changes.displaced),
        )

    @property
    def settled(self) -> bool:
        """Whether another decision before `next_ms` would change nothing: no `put` or `remove` since the last
        one concerns a workload that waits. After a decision there may be more to decide where workloads that
        are not parked are tried alone then, and for those that it took back too often."""
        return not self._touched

    @property
    def next_ms(self) -> int | None:
        """When time alone may change decisions next, as a backoff ends or an optional rule may decide
        otherwise. None: not without `put` or `remove`."""
        return earliest(self._timers.next_ms, self._backoffs.next_ms)

    def affected(self) -> Iterator[str]:
        """Yields keys of workloads that may wait for something else since the last decision, beside those in
        its plan."""
        for group in self._settled:
            for queue in group.queues.values():
                yield from queue.keys()

    def waiting(self, now_ms: int, keys: Iterable[str] | None = None) -> Iterator[Waiting]:
        """Yields why pending workloads wait, as of the last decision: these, or all. Keys of others are
        skipped."""
        pending = map(self._workloads.pending, sorted(self._workloads.keys()) if keys is None else keys)
        explainer: Explainer | None = None
        for workload in pending:
            if workload is not None:
                explainer = explainer or Explainer(self._state, now_ms)
                waiting = explainer.not_queued(workload)
                if waiting is None:
                    waiting = self._groups[workload.cluster_queue].waiting(workload, explainer)
                yield waiting

    def _take(self, workload: Workload) -> None:
        self._workloads.put(workload)
        if workload.admission is None:
            self._add_pending(workload)
        elif (group := self._groups.get(workload.admission.cluster_queue)) is not None:
            holding = self._state.hold_reserved(workload, workload.admission)
            if self._rules.topology and needs_second_pass(workload):
                group.placing[workload.key] = holding
            self._touch_waiting(group)

    def _is_parked_as(self, workload: Workload) -> bool:
        """Whether a known workload is parked or not, as its object says."""
        group = self._groups.get(workload.cluster_queue)
        queue = group.queues.get(workload.cluster_queue) if group is not None else None
        return workload.admission is not None or queue is None or queue.is_parked_as(workload)

    def _add_pending(self, workload: Workload) -> None:
        """Queues it, unless its backoff has not ended."""
        self._newly_pending.add(workload.key)
        if workload.requeue_at_ms is not None:
            if workload.requeue_at_ms < NEVER_MS:
                self._backoffs.set(workload.key, workload.requeue_at_ms)
            self._not_queued.add(workload.key)
        else:
            self._enqueue(workload)

    def _enqueue(self, workload: Workload) -> None:
        group = self._groups.get(workload.cluster_queue)
        if group is None or workload.cluster_queue not in group.queues:
            self._not_queued.add(workload.key)
        else:
            group.queues[workload.cluster_queue].put(workload, tried=workload.parked)
            self._touch(group, workload.cluster_queue)

    def _wake(self, now_ms: int) -> None:
        """Queues workloads whose backoff has ended, and retries groups whose timer is due."""
        for names in self._timers.take_due(now_ms):
            self._touch(self._groups[names[0]])
        for key in self._backoffs.take_due(now_ms):
            workload = self._workloads.pending(key)
            assert workload is not None  # its timer goes with it
            self._not_queued.remove(key)
            self._enqueue(workload)

    def _drain(self) -> tuple[str, ...]:
        """Evicts from queues with HoldAndDrain, and returns the keys of workloads that were not leaving
        already."""
        drained = [
            holding
            for name in self._draining
            for holding in self._state.holdings[name].values()
            if not holding.evicted
        ]
        for holding in drained:
            self._state.evict(holding)
            self._touch(self._groups[holding.node.name])
            self._workloads.evict(holding)
        return tuple(sorted(holding.workload.key for holding in drained))

    def _carry_out(self, changes: Changes) -> None:
        """Updates the objects as they will be once the plan is written."""
        for workload in changes.retried_next:  # the next decision tries them even if nothing happens before
            group = self._groups[workload.cluster_queue]
            group.queues[workload.cluster_queue].put(workload, tried=True)
            self._touch(group, workload.cluster_queue)
        for holding in changes.admitted.values():
            if holding.evicted:  # it was moved and then preempted: it leaves from where it is
                holding.admission = None
            if holding.workload.admission is not None and self._state.leave_places(holding):
                self._touch(self._groups[holding.node.name])
            holding.started = True
        self._workloads.carry_out(changes)

    def _drop(self, key: str) -> None:
        workload, holding = self._workloads.pop(key)
        if key in self._not_queued:
            self._not_queued.remove(key)
            self._backoffs.set(key, None)
            return
        admission = workload.admission
        name = workload.cluster_queue if admission is None else admission.cluster_queue
        group = self._groups.get(name)
        if group is None:
            return
        if holding is None and admission is None:
            group.queues[name].remove(workload)
            self._touch(group, name)
        else:
            self._state.take_back(holding or self._state.holdings[name][key])
            group.placing.pop(key, None)
            self._touch_waiting(group)

    def _touch_waiting(self, group: ContentionGroup) -> None:
        """Marks a group to be settled, if there is a workload in it that may be admitted."""
        if group.is_waiting:
            self._touch(group)

    def _touch(self, group: ContentionGroup, queue: str = "") -> None:
        """Marks a group to be settled; see ContentionGroup.touch."""
        self._touched[group] = None
        if queue:
            group.touch(queue)


def decide(
    snapshot: Snapshot,
    now_ms: int,
    rules: Rules = Rules(),  # noqa: B008 - a frozen value
    pruning: type[Pruning] = WakeIndex,
) -> Plan:
    """Runs scheduling cycles on the snapshot until nothing changes.

    Equal snapshots give equal plans, in whatever order their parts come. Victims keep their quota
    until a later snapshot shows it withdrawn. Raises SnapshotError for input that contradicts
    itself; a queue that names missing things is inactive, and the rest goes on.
    """
    return Engine(snapshot, rules, pruning).decide(now_ms)
