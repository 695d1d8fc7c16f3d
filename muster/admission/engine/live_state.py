"""Keeps the working state and the pending queues in sync with the objects."""

from dataclasses import replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import chain

from muster.admission.engine.budget_ranks import ranked
from muster.admission.engine.changes import TrackedWorkloads
from muster.admission.engine.contention import ContentionGroup, contention_groups
from muster.admission.flavors.placement import needs_second_pass
from muster.admission.model import (
    NEVER_MS,
    ClusterQueue,
    Cohort,
    Enforcement,
    Rules,
    Snapshot,
    StopPolicy,
    Workload,
)
from muster.admission.pruning.protocol import Pruning
from muster.admission.rules.budgets import Budgets
from muster.admission.rules.min_runtime import MinRuntime
from muster.admission.rules.soft_budgets import SoftBudgets
from muster.admission.state.state import WorkingState
from muster.admission.wait_note import earliest


class Timers:
    """A timer for each key; setting it again replaces the previous time."""

    __slots__ = ("_at_ms", "_heap")

    def __init__(self) -> None:
        self._at_ms: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []  # includes replaced times

    def set(self, key: str, at_ms: int | None) -> None:
        """Sets the timer; None removes it."""
        if at_ms is None:
            self._at_ms.pop(key, None)
        elif self._at_ms.get(key) != at_ms:
            self._at_ms[key] = at_ms
            heappush(self._heap, (at_ms, key))

    def __contains__(self, key: str) -> bool:
        return key in self._at_ms

    def fork(self) -> "Timers":
        """Returns an independent copy."""
        copy = Timers()
        copy._at_ms, copy._heap = dict(self._at_ms), list(self._heap)
        return copy

    @property
    def next_ms(self) -> int | None:
        """The time of the next timer; None without timers."""
        while self._heap and self._at_ms.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_due(self, now_ms: int) -> list[str]:
        """Removes the timers that are due, and returns their keys."""
        due = []
        while (next_ms := self.next_ms) is not None and next_ms <= now_ms:
            _, key = heappop(self._heap)
            del self._at_ms[key]
            due.append(key)
        return due


class LiveState:
    """The state of an engine. `objects` are all objects except workloads. `groups` are by queue name;
    `touched` are the groups that the next decision settles, `newly_pending` the keys of workloads that became
    pending since the last decision."""

    def __init__(self, objects: Snapshot, rules: Rules, pruning: type[Pruning]) -> None:
        self.objects = objects
        self.rules = rules
        self.pruning = pruning
        self.state = WorkingState(objects, rules)
        self.state.bounds_preemption = pruning.bounds_preemption
        self._install_rules()
        self.groups = {
            name: group for group in contention_groups(self.state, pruning) for name in group.names
        }
        self.draining = dict.fromkeys(
            name
            for name, queue in sorted(objects.cluster_queues.items())
            if queue.stop is StopPolicy.HOLD_AND_DRAIN
        )
        self.workloads = TrackedWorkloads()
        self.touched: dict[ContentionGroup, None] = dict.fromkeys(self.groups.values())
        self.newly_pending: set[str] = set()
        self._settlements = Timers()  # when to settle a group again, by its first queue
        self._backoffs = Timers()  # ends of backoffs, by workload
        self._not_queued: set[str] = set()  # pending workloads that are in no queue

    def fork(self) -> "LiveState":
        """Returns a copy that shares immutable objects and queued workloads."""
        copy = LiveState(self.objects, self.rules, self.pruning)
        holdings = copy.state.restore_from(self.state)
        copy.workloads = self.workloads.fork(holdings)
        for group in dict.fromkeys(self.groups.values()):
            copy.groups[group.names[0]].restore_from(group, holdings)
        copy.touched = {copy.groups[group.names[0]]: None for group in self.touched}
        copy.newly_pending = set(self.newly_pending)
        copy._settlements, copy._backoffs = self._settlements.fork(), self._backoffs.fork()
        copy._not_queued = set(self._not_queued)
        return copy

    def update_objects(self, objects: Snapshot) -> bool:
        """Replaces the objects in place if only quotas, weights, `local_usage` and `spent` differ; returns
        False if anything else does."""
        if not _differ_in_amounts(self.objects, objects):
            return False
        self.objects = objects
        roots = self.state.update_objects(objects)
        self._install_rules()
        for group in dict.fromkeys(self.groups.values()):
            if group.update_objects(roots):
                self.touch(group)
        return True

    def _install_rules(self) -> None:
        """Installs the hooks of optional rules that are configured."""
        snapshot, state = self.objects, self.state
        queues = snapshot.cluster_queues.values()
        least_ms = self.rules.run_time_ms_min
        run_times_ms = {
            queue.name: least_ms if queue.run_time_ms_min is None else queue.run_time_ms_min
            for queue in queues
        }
        if any(run_times_ms.values()):
            state.min_runtime = MinRuntime(run_times_ms)
        budgets = [queue.budgets for queue in queues] + [c.budgets for c in snapshot.cohorts.values()]
        enforced = {budget.enforcement for budget in chain.from_iterable(budgets)}
        if Enforcement.HARD in enforced:
            state.budgets = Budgets(snapshot, state.tree.queues, state.holdings)
        if Enforcement.SOFT in enforced:
            state.soft_budgets = SoftBudgets(snapshot, state.tree.queues, state.holdings)

    def parked(self) -> set[str]:
        """Returns the keys of parked workloads, including workloads that will be parked once they are
        queued."""
        parked = {key for key in self._not_queued if self._pending(key).parked}
        for group in dict.fromkeys(self.groups.values()):
            for queue in group.occupied:
                parked |= queue.parked
        return parked

    def take(self, workload: Workload) -> None:
        """Adds a workload: to its queue if it is pending, to the usage of its queue if it holds quota."""
        self.workloads.put(workload)
        if workload.admission is None:
            self._add_pending(workload)
        elif (group := self.groups.get(workload.admission.cluster_queue)) is not None:
            holding = self.state.add_reserved(workload, workload.admission)
            if self.rules.topology and needs_second_pass(workload):
                group.placing[workload.key] = holding
            if group.is_waiting or workload.admission.cluster_queue in self.draining:
                self.touch(group)

    def is_parked_as(self, workload: Workload) -> bool:
        """Returns whether the workload is parked if and only if its object is."""
        if workload.key in self._not_queued:
            return self._pending(workload.key).parked is workload.parked
        group = self.groups.get(workload.cluster_queue)
        queue = group.queues.get(workload.cluster_queue) if group is not None else None
        return workload.admission is not None or queue is None or queue.is_parked_as(workload)

    def _pending(self, key: str) -> Workload:
        """Returns a workload that must be pending."""
        workload = self.workloads.pending(key)
        assert workload is not None
        return workload

    def _add_pending(self, workload: Workload) -> None:
        """Queues the workload, unless it is in backoff."""
        self.newly_pending.add(workload.key)
        if workload.requeue_at_ms is not None:
            if workload.requeue_at_ms < NEVER_MS:
                self._backoffs.set(workload.key, workload.requeue_at_ms)
            self._not_queued.add(workload.key)
        else:
            self._enqueue(workload)

    def _enqueue(self, workload: Workload) -> None:
        group = self.groups.get(workload.cluster_queue)
        if group is None or workload.cluster_queue not in group.queues:
            self._not_queued.add(workload.key)
        else:
            workload = ranked(self.state.used_up, workload)
            self.workloads.put(workload)
            group.queues[workload.cluster_queue].put(workload, tried=workload.parked)
            self.touch(group, workload.cluster_queue)

    def set_timer(self, group: ContentionGroup) -> None:
        """Sets when a settled group must be settled again without any change."""
        self._settlements.set(group.names[0], group.until_ms())

    @property
    def next_ms(self) -> int | None:
        """The next time at which `wake` has work; None if there is none."""
        return earliest(self._settlements.next_ms, self._backoffs.next_ms)

    def wake(self, now_ms: int) -> None:
        """Starts a decision: touches groups whose timer is due, and queues workloads whose backoff has
        expired."""
        for name in self._settlements.take_due(now_ms):
            self.touch(self.groups[name])
        for key in self._backoffs.take_due(now_ms):
            workload = self._pending(key)  # dropping a workload removes its timer
            self._not_queued.remove(key)
            self._enqueue(workload)
        # The plan reports the others as not queued: once that is written they are no longer parked.
        for key in self.newly_pending & self._not_queued:
            self.workloads.put(replace(self._pending(key), parked=False))

    def drop(self, key: str) -> None:
        """Removes a workload, and touches its group if this may change decisions."""
        workload, holding = self.workloads.pop(key)
        if key in self._not_queued:
            self._not_queued.remove(key)
            self._backoffs.set(key, None)
            return
        admission = workload.admission
        name = workload.cluster_queue if admission is None else admission.cluster_queue
        group = self.groups.get(name)
        if group is None:
            return
        if holding is None and admission is None:
            group.nominations.drop(key)
            group.queues[name].remove(workload)
            self.touch(group, name)
        else:
            group.nominations.clear()
            self.state.remove_holding(holding or self.state.holdings[name][key])
            group.placing.pop(key, None)
            # If no workload waits, released quota changes nothing: most events of a simulation end here.
            if group.is_waiting:
                self.touch(group)

    def touch(self, group: ContentionGroup, queue: str = "") -> None:
        """Marks a group for the next decision, and the queue if its pending workloads changed."""
        self.touched[group] = None
        if queue:
            group.touch(queue)


def _differ_in_amounts(old: Snapshot, new: Snapshot) -> bool:
    """Returns whether the snapshots differ only in quotas, weights, `local_usage` and `spent`."""
    bare_old, bare_new = (
        replace(snapshot, cohorts={}, cluster_queues={}, local_usage={}, spent={}) for snapshot in (old, new)
    )
    return (
        bare_old == bare_new
        and old.cohorts.keys() == new.cohorts.keys()
        and old.cluster_queues.keys() == new.cluster_queues.keys()
        and all(_has_same_structure(cohort, new.cohorts[name]) for name, cohort in old.cohorts.items())
        and all(
            _has_same_structure(queue, new.cluster_queues[name]) for name, queue in old.cluster_queues.items()
        )
    )


def _has_same_structure(old: ClusterQueue | Cohort, new: ClusterQueue | Cohort) -> bool:
    """Returns whether only the amounts of quotas and the weights differ."""
    if old is new:
        return True
    old_flavors, new_flavors = (
        [(group.covered, [quotas.flavor for quotas in group.flavors]) for group in owner.groups]
        for owner in (old, new)
    )
    bare_old, bare_new = (replace(owner, groups=(), weight=Fraction(1)) for owner in (old, new))
    return old_flavors == new_flavors and bare_old == bare_new
