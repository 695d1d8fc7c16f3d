"""The engine: keeps the working state between decisions and updates it with changed objects.

A new engine with the same objects makes the same decisions: an engine has no state beyond its objects with
its plans applied. It assumes that every plan is applied immediately; if a write fails, the caller puts the
unchanged object again.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import replace

from muster.admission.cycle.entry import Entry
from muster.admission.cycle.nominate import nominate
from muster.admission.engine.budget_ranks import ranked, update_ranks
from muster.admission.engine.budget_usage import BudgetUsage, budget_usage
from muster.admission.engine.changes import Changes
from muster.admission.engine.contention import ContentionGroup
from muster.admission.engine.live_state import LiveState
from muster.admission.engine.quota_usage import NodeUsage, quota_usage
from muster.admission.engine.settlement import settle
from muster.admission.explain import Explainer
from muster.admission.model import FlavorResource, Plan, PlannedAdmission, Rules, Snapshot, Waiting, Workload
from muster.admission.pruning.protocol import Pruning
from muster.admission.pruning.wake_index import WakeIndex
from muster.admission.validation import check, check_rules, check_workload

_EMPTY_PLAN = Plan((), (), ())


class Engine:
    """Makes decisions, and keeps the state between them. `now_ms` must not decrease between calls. Every
    method raises SnapshotError for inconsistent input, and then leaves the state unchanged."""

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
        self._newly_waiting: tuple[str, ...] = ()  # in the last decision
        for workload in snapshot.workloads:
            self._live.take(workload)

    @property
    def objects(self) -> Snapshot:
        """All objects except workloads."""
        return self._live.objects

    def update(self, objects: Snapshot) -> None:
        """Replaces all objects except the workloads. Changes of quotas, weights, `local_usage` and `spent`
        are applied in place; any other change rebuilds the state."""
        objects = replace(objects, workloads=())
        check(objects)
        if not self._live.update_objects(objects):
            self._build(replace(objects, workloads=self.snapshot.workloads))

    def fork(self) -> "Engine":
        """Returns an independent engine in the same state, to explore hypothetical changes."""
        other = copy(self)
        other._live = self._live.fork()
        other._settled = ()
        return other

    @property
    def snapshot(self) -> Snapshot:
        """All objects, with the last plan applied."""
        parked = self._live.parked()
        return replace(
            self._live.objects,
            workloads=tuple(
                workload
                if workload.parked is (workload.key in parked)
                else replace(workload, parked=workload.key in parked)
                for workload in self._live.workloads
            ),
        )

    def put(self, workload: Workload) -> None:
        """Adds or updates a workload."""
        previous = self._live.workloads.get(workload.key)
        if previous is not None:
            if (previous is workload or previous == workload) and self._live.is_parked_as(workload):
                return
            check_workload(workload)
            self._live.drop(previous.key)
        else:
            check_workload(workload)
        self._live.take(workload)

    def remove(self, key: str) -> None:
        """Removes a workload that is finished or deleted; does nothing if the key is unknown."""
        if key in self._live.workloads:
            self._live.drop(key)

    def decide(self, now_ms: int, explain: bool = True, unpark: bool = True) -> Plan:
        """Returns the plan of changes at this time. Its `waiting` explains workloads that became pending
        since the last decision, or that start to wait for targets. Reasons of other workloads may change with
        every decision: `self.waiting` returns them. Without `explain` the plan's `waiting` is empty:
        explanations cost more than many decisions. Without `unpark`, parked workloads are left to a later
        decision, as Kueue delays them for a second (requeueBatchPeriod) after quota was released."""
        live = self._live
        # Expired backoffs and drained queues come first, as they change which workloads are pending.
        live.state.begin(now_ms)
        live.wake(now_ms)
        drained = self._drain()
        self._settled, self._newly_waiting = (), ()
        if not live.touched and not live.newly_pending:
            return _EMPTY_PLAN
        changes = Changes()
        unsettled: list[ContentionGroup] = []
        # By name, so that equal objects give equal plans, independent of the order of events.
        for group in sorted(live.touched, key=lambda group: group.names):
            update_ranks(group, live.workloads, now_ms)
            if not settle(group, changes, now_ms, unpark):
                unsettled.append(group)
            live.set_timer(group)
        self._settled = tuple(live.touched)
        live.touched = dict.fromkeys(unsettled)
        newly_waiting = live.newly_pending
        live.newly_pending = set()
        if changes.count:
            self._apply(changes)
            newly_waiting = newly_waiting | changes.marked.keys()
        elif not newly_waiting and not drained:
            return _EMPTY_PLAN
        self._newly_waiting = tuple(
            sorted(key for key in newly_waiting if live.workloads.pending(key) is not None)
        )
        return Plan(
            admissions=tuple(
                PlannedAdmission(key, holding.admission)
                for key, holding in changes.admitted.items()
                if holding.admission is not None
            ),
            preemptions=tuple(preemption for _, preemption in changes.evicted),
            waiting=tuple(self.waiting(now_ms, self._newly_waiting)) if explain else (),
            drained=drained,
            replaced=tuple(holding.workload.key for holding in changes.replaced.values()),
            displaced=tuple(holding.workload.key for holding in changes.displaced),
        )

    @property
    def settled(self) -> bool:
        """True if another decision before `next_ms` would change nothing, as no `put` or `remove` since the
        last decision affects a waiting workload. Right after a decision it may be False: if the next decision
        tries unparked workloads separately, or retries admissions that were reverted too often."""
        return not self._live.touched

    @property
    def next_ms(self) -> int | None:
        """The next time at which decisions may change without `put` or `remove`: a backoff expires, or the
        ruling of an optional rule may change. None if there is none."""
        return self._live.next_ms

    @property
    def newly_waiting(self) -> tuple[str, ...]:
        """Sorted keys of the workloads that the last plan's `waiting` explains, or would explain with
        `explain`."""
        return self._newly_waiting

    def affected(self) -> Iterator[str]:
        """Yields the keys of workloads whose wait reason the last decision may have changed, in addition to
        the workloads in its plan."""
        for group in self._settled:
            for queue in group.queues.values():
                yield from queue.keys()

    def waiting(self, now_ms: int, keys: Iterable[str] | None = None) -> Iterator[Waiting]:
        """Yields the wait reasons of pending workloads, as of the last decision: of these keys, or of all
        workloads. Skips keys of workloads that are not pending."""
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

    def lacks(self, workload: Workload, now_ms: int) -> Waiting | None:
        """Returns what would be missing for a workload that has not been put, as of the last decision; None
        if it would fit."""
        return Explainer(self._live.state, now_ms).hypothetical(workload)

    def preempts(self, workload: Workload, now_ms: int) -> bool:
        """Returns whether a workload that has not been put would be admitted by preempting others, as of the
        last decision. False while gangs of its cohort wait for preempted quota, which they take first."""
        name = workload.cluster_queue
        queue, group = self._live.objects.cluster_queues.get(name), self._live.groups.get(name)
        if queue is None or group is None or Explainer(self._live.state, now_ms).not_queued(workload):
            return False
        if any(not other.surplus_of for q in group.queues.values() for other in q.preemptors.values()):
            return False
        workload = ranked(self._live.state.used_up, workload)
        head = Entry(workload, queue, self._live.state.tree.queues[name])
        return nominate(self._live.state, head, cycle=0) and bool(head.targets)

    def queue_order(self, queue: str, now_ms: int) -> list[str]:
        """Returns the keys of the workloads that are queued in a ClusterQueue, in the order in which the next
        decision tries them; empty if the queue is inactive, stopped or unknown."""
        self._live.state.begin(now_ms)
        self._live.wake(now_ms)
        group = self._live.groups.get(queue)
        if group is not None:
            update_ranks(group, self._live.workloads, now_ms)
        pending = group.queues.get(queue) if group is not None else None
        return [] if pending is None else pending.keys_in_order()

    def available(self, queue: str, resource: FlavorResource) -> int:
        """Returns the unused quota of a ClusterQueue, own and borrowed; 0 if it is inactive or unknown.

        Subtracts the requests of gangs in its cohort that wait for preempted quota, which they take first.
        Their flavors are not known yet, so the requests count against every flavor."""
        node, group = self._live.state.tree.queues.get(queue), self._live.groups.get(queue)
        if node is None or group is None:
            return 0
        return max(0, node.available(resource) - _awaited(group, resource.resource))

    def quota_usage(self) -> tuple[NodeUsage, ...]:
        """Returns the quota, usage, borrowing and lending of each cohort and ClusterQueue, with the last plan
        applied: cohorts first, each after its parent."""
        return tuple(quota_usage(self._live.state.tree))

    def budget_usage(self, now_ms: int) -> tuple[BudgetUsage, ...]:
        """Returns the usage of all budgets: cohorts first, then ClusterQueues."""
        return tuple(budget_usage(self._live.objects, self._live.state, now_ms))

    def _drain(self) -> tuple[str, ...]:
        """Evicts the workloads of queues with HoldAndDrain; returns their keys. Skips workloads that are
        already evicted."""
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

    def _apply(self, changes: Changes) -> None:
        """Updates the objects as if the plan were already written."""
        for workload in changes.retried_next:  # touched, so that the next decision tries them
            group = self._live.groups[workload.cluster_queue]
            group.queues[workload.cluster_queue].put(workload, tried=True)
            self._live.touch(group, workload.cluster_queue)
        for holding in changes.admitted.values():
            if holding.evicted:  # it was moved and then preempted: it is evicted from its current nodes
                holding.admission = None
            if holding.workload.admission is not None and self._live.state.free_former_domains(holding):
                self._live.touch(self._live.groups[holding.node.name])
            # From here on its pods may run, so its quota can be released only by preemption.
            holding.started = True
            # Now that its flavors are decided, a budget of another flavor does not apply.
            state = self._live.state
            state.holdings[holding.node.name].set_over_budget(holding, state.is_over_budget(holding))
        self._live.workloads.apply(changes)


def decide(
    snapshot: Snapshot,
    now_ms: int,
    rules: Rules = Rules(),  # noqa: B008 - a frozen value
    pruning: type[Pruning] = WakeIndex,
) -> Plan:
    """Runs scheduling cycles on the snapshot until nothing changes.

    Equal snapshots give equal plans, regardless of the order of their objects. Preemption targets hold their
    quota until a later snapshot shows it released. A queue that refers to missing objects is inactive; the
    other queues are not affected.

    Raises: SnapshotError for inconsistent input.
    """
    return Engine(snapshot, rules, pruning).decide(now_ms)


def _awaited(group: ContentionGroup, resource: str) -> int:
    """Returns the requests of the group's gangs that wait for preempted quota."""
    return sum(
        pod_set.requests.get(resource, 0) * pod_set.count
        for queue in group.queues.values()
        for workload in queue.preemptors.values()
        for pod_set in workload.pod_sets
    )
