"""The working state and the pending queues, in step with the objects as they come and go."""

from dataclasses import replace
from fractions import Fraction
from heapq import heappop, heappush

from muster.admission.engine.changes import KnownWorkloads
from muster.admission.engine.contention import ContentionGroup, contention_groups
from muster.admission.flavors.placement import needs_second_pass
from muster.admission.model import NEVER_MS, ClusterQueue, Cohort, Rules, Snapshot, StopPolicy, Workload
from muster.admission.pruning.protocol import Pruning
from muster.admission.rules.budgets import Budgets
from muster.admission.rules.min_runtime import MinRuntime
from muster.admission.state.state import WorkingState
from muster.admission.wait_note import earliest


class Timers:
    """At most one moment for each key; setting it again replaces the former one."""

    __slots__ = ("_at_ms", "_heap")

    def __init__(self) -> None:
        self._at_ms: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []  # with moments that were replaced since

    def set(self, key: str, at_ms: int | None) -> None:
        """None: at no moment."""
        if at_ms is None:
            self._at_ms.pop(key, None)
        elif self._at_ms.get(key) != at_ms:
            self._at_ms[key] = at_ms
            heappush(self._heap, (at_ms, key))

    def __contains__(self, key: str) -> bool:
        return key in self._at_ms

    def fork(self) -> "Timers":
        copy = Timers()
        copy._at_ms, copy._heap = dict(self._at_ms), list(self._heap)
        return copy

    @property
    def next_ms(self) -> int | None:
        while self._heap and self._at_ms.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_due(self, now_ms: int) -> list[str]:
        """Returns the keys whose moment has come, and forgets it."""
        due = []
        while (next_ms := self.next_ms) is not None and next_ms <= now_ms:
            _, key = heappop(self._heap)
            del self._at_ms[key]
            due.append(key)
        return due


class LiveState:
    """`objects` are those without workloads. `groups` are by the names of their queues; `touched` are those
    that are to be settled, `newly_pending` keys of workloads that came since the last decision."""

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
        self.workloads = KnownWorkloads()
        self.touched: dict[ContentionGroup, None] = dict.fromkeys(self.groups.values())
        self.newly_pending: set[str] = set()
        self._settlements = Timers()  # when time alone may change decisions, by the first queue of a group
        self._backoffs = Timers()  # when they end, by workload
        self._not_queued: set[str] = set()  # pending, but in no queue

    def fork(self) -> "LiveState":
        """A copy that shares what never changes: objects, and what is queued."""
        copy = LiveState(self.objects, self.rules, self.pruning)
        held = copy.state.restore_from(self.state)
        copy.workloads = self.workloads.fork(held)
        for group in dict.fromkeys(self.groups.values()):
            copy.groups[group.names[0]].take_over(group, held)
        copy.touched = {copy.groups[group.names[0]]: None for group in self.touched}
        copy.newly_pending = set(self.newly_pending)
        copy._settlements, copy._backoffs = self._settlements.fork(), self._backoffs.fork()
        copy._not_queued = set(self._not_queued)
        return copy

    def update_objects(self, objects: Snapshot) -> bool:
        """Takes objects that differ in quotas, weights, `local_usage` and `spent` only. Returns False if more
        has changed."""
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
        """Gives the state the hooks that its rules and queues ask for."""
        snapshot, state = self.objects, self.state
        queues = snapshot.cluster_queues.values()
        least_ms = self.rules.run_time_ms_min
        run_times_ms = {
            queue.name: least_ms if queue.run_time_ms_min is None else queue.run_time_ms_min
            for queue in queues
        }
        if any(run_times_ms.values()):
            state.min_runtime = MinRuntime(run_times_ms)
        cohorts = snapshot.cohorts.values()
        if any(queue.budgets for queue in queues) or any(cohort.budgets for cohort in cohorts):
            state.budgets = Budgets(snapshot, state.tree.queues, state.holdings)

    def parked(self) -> set[str]:
        """Keys of workloads that were tried in vain, and wait until all are tried, or will once they are
        queued."""
        parked = {key for key in self._not_queued if self._pending(key).parked}
        for group in dict.fromkeys(self.groups.values()):
            for queue in group.occupied:
                parked |= queue.parked
        return parked

    def take(self, workload: Workload) -> None:
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
        """Whether a known workload is parked or not, as its object says."""
        if workload.key in self._not_queued:
            return self._pending(workload.key).parked is workload.parked
        group = self.groups.get(workload.cluster_queue)
        queue = group.queues.get(workload.cluster_queue) if group is not None else None
        return workload.admission is not None or queue is None or queue.is_parked_as(workload)

    def _pending(self, key: str) -> Workload:
        """A workload that is known to be pending."""
        workload = self.workloads.pending(key)
        assert workload is not None
        return workload

    def _add_pending(self, workload: Workload) -> None:
        """Queues it, unless its backoff has not ended."""
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
            group.queues[workload.cluster_queue].put(workload, tried=workload.parked)
            self.touch(group, workload.cluster_queue)

    def set_timer(self, group: ContentionGroup) -> None:
        """Sets when a group that was settled is to be settled again even if nothing happens."""
        self._settlements.set(group.names[0], group.until_ms())

    @property
    def next_ms(self) -> int | None:
        """When `wake` has something to do next; None: not by time alone."""
        return earliest(self._settlements.next_ms, self._backoffs.next_ms)

    def wake(self, now_ms: int) -> None:
        """Begins a decision: marks groups over which time may have changed decisions, and queues workloads
        whose backoff has ended."""
        for name in self._settlements.take_due(now_ms):
            self.touch(self.groups[name])
        for key in self._backoffs.take_due(now_ms):
            workload = self._pending(key)  # its timer goes with it
            self._not_queued.remove(key)
            self._enqueue(workload)
        # The plan tells the others that they are in no queue: once this is written they are not parked.
        for key in self.newly_pending & self._not_queued:
            self.workloads.put(replace(self._pending(key), parked=False))

    def drop(self, key: str) -> None:
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
            group.queues[name].remove(workload)
            self.touch(group, name)
        else:
            self.state.remove_holding(holding or self.state.holdings[name][key])
            group.placing.pop(key, None)
            # Where no workload waits, released quota changes nothing: most events of a simulation end here.
            if group.is_waiting:
                self.touch(group)

    def touch(self, group: ContentionGroup, queue: str = "") -> None:
        """Marks a group to be settled; see ContentionGroup.touch."""
        self.touched[group] = None
        if queue:
            group.touch(queue)


def _differ_in_amounts(one: Snapshot, other: Snapshot) -> bool:
    """Whether they differ only in what changes no queue's place, no kind of workload and no flavor."""
    rest = [replace(of, cohorts={}, cluster_queues={}, local_usage={}, spent={}) for of in (one, other)]
    return (
        rest[0] == rest[1]
        and one.cohorts.keys() == other.cohorts.keys()
        and one.cluster_queues.keys() == other.cluster_queues.keys()
        and all(_is_alike(cohort, other.cohorts[name]) for name, cohort in one.cohorts.items())
        and all(_is_alike(queue, other.cluster_queues[name]) for name, queue in one.cluster_queues.items())
    )


def _is_alike(one: ClusterQueue | Cohort, other: ClusterQueue | Cohort) -> bool:
    """Whether they differ in the amounts of their quotas and in their weights only."""
    if one is other:
        return True
    flavors = [
        [(group.covered, [of.flavor for of in group.flavors]) for group in owner.groups]
        for owner in (one, other)
    ]
    rest = [replace(owner, groups=(), weight=Fraction(1)) for owner in (one, other)]
    return flavors[0] == flavors[1] and rest[0] == rest[1]
