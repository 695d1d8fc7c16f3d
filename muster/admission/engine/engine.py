"""The engine: keeps the working state from one decision to the next and takes what changed.

A fresh engine with the same objects decides the same: nothing that an engine remembers goes beyond
its objects, as they are once its plans are carried out. It takes every plan for carried out at
once; where that failed, the caller puts the object again as it is.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import replace

from muster.admission.engine.changes import Changes
from muster.admission.engine.contention import ContentionGroup
from muster.admission.engine.live_state import LiveState
from muster.admission.engine.quota_usage import NodeUsage, quota_usage
from muster.admission.engine.settlement import settle
from muster.admission.explain import Explainer
from muster.admission.model import Plan, PlannedAdmission, Rules, Snapshot, Waiting, Workload
from muster.admission.pruning.protocol import Pruning
from muster.admission.pruning.wake_index import WakeIndex
from muster.admission.validation import check, check_rules, check_workload

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
        """Rebuilds the state from all objects."""
        check(snapshot)
        self._build(snapshot)

    def _build(self, snapshot: Snapshot) -> None:
        self._live = LiveState(replace(snapshot, workloads=()), self._rules, self._pruning)
        self._settled: tuple[ContentionGroup, ...] = ()  # by the last decision
        self._news: tuple[str, ...] = ()  # of the last decision
        for workload in snapshot.workloads:
            self._live.take(workload)

    @property
    def objects(self) -> Snapshot:
        """The objects that are no workloads."""
        return self._live.objects

    def update(self, objects: Snapshot) -> None:
        """Takes changed objects that are no workloads; the workloads stay as they are. Amounts of quotas,
        weights, `local_usage` and `spent` change in place; whatever else does rebuilds the state."""
        objects = replace(objects, workloads=())
        check(objects)
        if not self._live.update_objects(objects):
            self._build(replace(objects, workloads=self.snapshot.workloads))

    def fork(self) -> "Engine":
        """Returns an engine in the same state, for a question of what would happen if: what one of them is
        told changes nothing about the other."""
        other = copy(self)
        other._live = self._live.fork()
        other._settled = ()
        return other

    @property
    def snapshot(self) -> Snapshot:
        """All objects as they are once the last plan is carried out."""
        parked = self._live.parked()
        return replace(
            self._live.objects,
            workloads=tuple(
                one if one.parked is (one.key in parked) else replace(one, parked=one.key in parked)
                for one in self._live.workloads
            ),
        )

    def put(self, workload: Workload) -> None:
        """Adds or updates a workload."""
        known = self._live.workloads.get(workload.key)
        if (known is workload or known == workload) and self._live.is_parked_as(workload):
            return
        check_workload(workload)
        if known is not None:
            self._live.drop(known.key)
        self._live.take(workload)

    def remove(self, key: str) -> None:
        """A workload that is finished or gone; nothing happens if it is not known."""
        if key in self._live.workloads:
            self._live.drop(key)

    def decide(self, now_ms: int, explain: bool = True, unpark: bool = True) -> Plan:
        """Returns what changes now. The plan's `waiting` covers workloads that are pending since the last
        decision, or that wait for victims from now on; why the others wait may change with every decision,
        and `self.waiting` tells it. Without `explain` it is empty: explanations cost more than many
        decisions. Without `unpark`, workloads that were tried in vain are left to a later decision, as Kueue
        leaves them for a second (requeueBatchPeriod) after quota was released."""
        live = self._live
        # Backoffs and drained queues come first: they change which workloads are pending.
        live.state.begin(now_ms)
        live.wake(now_ms)
        drained = self._drain()
        self._settled, self._news = (), ()
        if not live.touched and not live.newly_pending:
            return _NOTHING
        changes = Changes()
        unsettled: list[ContentionGroup] = []
        # By name, not in the order of the events that touched them: equal objects give equal plans.
        for group in sorted(live.touched, key=lambda group: group.names):
            if not settle(group, changes, now_ms, unpark):
                unsettled.append(group)
            live.set_timer(group)
        self._settled = tuple(live.touched)
        live.touched = dict.fromkeys(unsettled)
        news = live.newly_pending
        live.newly_pending = set()
        if changes.count:
            self._carry_out(changes)
            news = news | changes.marked.keys()
        elif not news and not drained:
            return _NOTHING
        self._news = tuple(sorted(key for key in news if live.workloads.pending(key) is not None))
        return Plan(
            admissions=tuple(
                PlannedAdmission(key, holding.admission)
                for key, holding in changes.admitted.items()
                if holding.admission is not None
            ),
            preemptions=tuple(preemption for _, preemption in changes.evicted),
            waiting=tuple(self.waiting(now_ms, self._news)) if explain else (),
            drained=drained,
            replaced=tuple(holding.workload.key for holding in changes.replaced.values()),
            displaced=tuple(holding.workload.key for holding in changes.displaced),
        )

    @property
    def settled(self) -> bool:
        """Whether another decision before `next_ms` would change nothing: no `put` or `remove` since the last
        one concerns a workload that waits. After a decision there may be more to decide where workloads that
        are not parked are tried alone then, and for those that it took back too often."""
        return not self._live.touched

    @property
    def next_ms(self) -> int | None:
        """When time alone may change decisions next, as a backoff ends or an optional rule may decide
        otherwise. None: not without `put` or `remove`."""
        return self._live.next_ms

    @property
    def news(self) -> tuple[str, ...]:
        """Keys of those that the last plan's `waiting` covers, or would cover had they been explained, in
        order."""
        return self._news

    def affected(self) -> Iterator[str]:
        """Yields keys of workloads that may wait for something else since the last decision, beside those in
        its plan."""
        for group in self._settled:
            for queue in group.queues.values():
                yield from queue.keys()

    def waiting(self, now_ms: int, keys: Iterable[str] | None = None) -> Iterator[Waiting]:
        """Yields why pending workloads wait, as of the last decision: these, or all. Keys of others are
        skipped."""
        pending = map(
            self._live.workloads.pending, sorted(self._live.workloads.keys()) if keys is None else keys
        )
        explainer: Explainer | None = None
        for workload in pending:
            if workload is not None:
                explainer = explainer or Explainer(self._live.state, now_ms)
                waiting = explainer.not_queued(workload)
                if waiting is None:
                    waiting = self._live.groups[workload.cluster_queue].waiting(workload, explainer)
                yield waiting

    def queue_order(self, queue: str, now_ms: int) -> list[str]:
        """Returns the keys of the workloads that are queued in a ClusterQueue, in the order in which the next
        decision tries them; none of a queue that is inactive, stopped or unknown."""
        self._live.state.begin(now_ms)
        self._live.wake(now_ms)
        group = self._live.groups.get(queue)
        pending = group.queues.get(queue) if group is not None else None
        return [] if pending is None else pending.keys_in_order()

    def quota_usage(self) -> tuple[NodeUsage, ...]:
        """Returns what each cohort and ClusterQueue has, uses, borrows and lends, once the last plan is
        carried out: cohorts first, each after the one above it."""
        return tuple(quota_usage(self._live.state.tree))

    def _drain(self) -> tuple[str, ...]:
        """Evicts from queues with HoldAndDrain, and returns the keys of workloads that were not leaving
        already."""
        if not self._live.draining:
            return ()
        drained = [
            holding
            for name in self._live.draining
            for holding in self._live.state.holdings[name].values()
            if not holding.evicted
        ]
        for holding in drained:
            self._live.state.evict(holding)
            self._live.touch(self._live.groups[holding.node.name])
            self._live.workloads.evict(holding)
        return tuple(sorted(holding.workload.key for holding in drained))

    def _carry_out(self, changes: Changes) -> None:
        """Updates the objects as they will be once the plan is written."""
        for workload in changes.retried_next:  # the next decision tries them even if nothing happens before
            group = self._live.groups[workload.cluster_queue]
            group.queues[workload.cluster_queue].put(workload, tried=True)
            self._live.touch(group, workload.cluster_queue)
        for holding in changes.admitted.values():
            if holding.evicted:  # it was moved and then preempted: it leaves from where it is
                holding.admission = None
            if holding.workload.admission is not None and self._live.state.free_former_domains(holding):
                self._live.touch(self._live.groups[holding.node.name])
            # From here on its pods may run: to take its quota is to preempt it.
            holding.started = True
        self._live.workloads.carry_out(changes)


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
