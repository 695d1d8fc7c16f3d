"""The working state and the pending queues, in step with the objects as they come and go."""

from dataclasses import replace
from fractions import Fraction

from muster.admission.engine.contention import contention_groups
from muster.admission.engine.contention_group import ContentionGroup
from muster.admission.engine.known_workloads import KnownWorkloads
from muster.admission.engine.timers import Timers
from muster.admission.flavors.placement import needs_second_pass
from muster.admission.model import NEVER_MS, ClusterQueue, Cohort, Rules, Snapshot, StopPolicy, Workload
from muster.admission.pruning.protocol import Pruning
from muster.admission.rules import install
from muster.admission.state.state import WorkingState


class LiveState:
    """`objects` are those without workloads. `groups` are by the names of their queues; `touched` are those
    that are to be settled, `newly_pending` keys of workloads that came since the last decision."""

    def __init__(self, objects: Snapshot, rules: Rules, pruning: type[Pruning]) -> None:
        self.objects = objects
        self.rules = rules
        self.pruning = pruning
        self.state = WorkingState(objects, rules)
        self.state.bounds_preemption = pruning.bounds_preemption
        install(self.state)
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
        self.backoffs: Timers[str] = Timers()  # when they end, by workload
        self._not_queued: set[str] = set()  # pending, but in no queue

    def fork(self) -> "LiveState":
        """A copy that shares what never changes: objects, and what is queued."""
        copy = LiveState(self.objects, self.rules, self.pruning)
        held = copy.state.take_over(self.state)
        copy.workloads = self.workloads.fork(held)
        for group in dict.fromkeys(self.groups.values()):
            copy.groups[group.names[0]].take_over(group, held)
        copy.touched = {copy.groups[group.names[0]]: None for group in self.touched}
        copy.newly_pending = set(self.newly_pending)
        copy.backoffs = self.backoffs.fork()
        copy._not_queued = set(self._not_queued)
        return copy

    def take_objects(self, objects: Snapshot) -> bool:
        """Takes objects that differ in quotas, weights, `local_usage` and `spent` only. Returns False if more
        has changed."""
        if not _differ_in_amounts(self.objects, objects):
            return False
        self.objects = objects
        roots = self.state.take_objects(objects)
        install(self.state)
        for group in dict.fromkeys(self.groups.values()):
            if group.take_objects(roots):
                self.touch(group)
        return True

    def parked(self) -> set[str]:
        """Keys of workloads that were tried in vain, and wait until all are tried."""
        parked: set[str] = set()
        for group in dict.fromkeys(self.groups.values()):
            for queue in group.occupied:
                parked |= queue.parked
        return parked

    def take(self, workload: Workload) -> None:
        self.workloads.put(workload)
        if workload.admission is None:
            self._add_pending(workload)
        elif (group := self.groups.get(workload.admission.cluster_queue)) is not None:
            holding = self.state.hold_reserved(workload, workload.admission)
            if self.rules.topology and needs_second_pass(workload):
                group.placing[workload.key] = holding
            if group.is_waiting or workload.admission.cluster_queue in self.draining:
                self.touch(group)

    def is_parked_as(self, workload: Workload) -> bool:
        """Whether a known workload is parked or not, as its object says."""
        group = self.groups.get(workload.cluster_queue)
        queue = group.queues.get(workload.cluster_queue) if group is not None else None
        return workload.admission is not None or queue is None or queue.is_parked_as(workload)

    def _add_pending(self, workload: Workload) -> None:
        """Queues it, unless its backoff has not ended."""
        self.newly_pending.add(workload.key)
        if workload.requeue_at_ms is not None:
            if workload.requeue_at_ms < NEVER_MS:
                self.backoffs.set(workload.key, workload.requeue_at_ms)
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

    def wake(self, now_ms: int) -> None:
        """Queues workloads whose backoff has ended."""
        for key in self.backoffs.take_due(now_ms):
            workload = self.workloads.pending(key)
            assert workload is not None  # its timer goes with it
            self._not_queued.remove(key)
            self._enqueue(workload)

    def drop(self, key: str) -> None:
        workload, holding = self.workloads.pop(key)
        if key in self._not_queued:
            self._not_queued.remove(key)
            self.backoffs.set(key, None)
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
            self.state.take_back(holding or self.state.holdings[name][key])
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
