"""Elastic gangs that hold quota in a simulation: they ask for workers, grow and shrink.

As in the controller, the core decides on one replica at a time, each of which is a separate workload.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial

from muster import admission as core
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.main_flavor import main_flavor
from muster.forecast.placement import accelerators
from muster.forecast.simulation.growth_record import GroupSize, GrowthRecord
from muster.forecast.simulation.worker_group import WorkerGroup
from muster.translation.elastic import grown, offers, pod_set_of, resized, split

Groups = Mapping[str, WorkerGroup]
"""Worker groups by the name of their pod set."""


@dataclass(slots=True)
class _Gang:
    """A gang with quota. `whole` has all pods that hold quota, without pods that terminate."""

    whole: core.Workload
    groups: dict[str, WorkerGroup]
    terminating: dict[str, int] = field(default_factory=dict)  # pods, by pod set
    surplus: dict[str, core.Workload] = field(default_factory=dict)  # in the engine, by key

    def granted(self, pod_set: str) -> int:
        """Returns the pods of a set that hold quota."""
        admission = self.whole.admission
        assert admission is not None, "only gangs with quota are elastic"
        return next(assigned.count for assigned in admission.pod_sets if assigned.name == pod_set)

    def size(self, pod_set: str) -> GroupSize:
        """Returns the size of a group for the record."""
        assert self.whole.admission is not None
        group, granted = self.groups[pod_set], self.granted(pod_set)
        requests = next(pods.requests for pods in self.whole.pod_sets if pods.name == pod_set)
        held = (assigned.flavors for assigned in self.whole.admission.pod_sets if assigned.name == pod_set)
        used = max(0, granted - group.minimum) * accelerators(requests)
        return GroupSize(granted, group.asked, used, main_flavor(held))

    def parts(self) -> tuple[core.Workload, ...]:
        """Returns the gang, and its surplus, as the core decides on them."""
        sizes = {
            name: group.pod_set(self.granted(name), self.terminating.get(name, 0))
            for name, group in self.groups.items()
        }
        return split(self.whole, sizes)


class ElasticGangs:
    """The elastic gangs with quota, by job, in one future."""

    def __init__(self, engine: core.Engine) -> None:
        self._engine = engine
        self._gangs: dict[int, _Gang] = {}
        self.pending = 0  # replicas that wait for quota
        self.record = GrowthRecord()
        # Called with the time, the job, its pod set and its pods with quota, after each change.
        self.on_size: Callable[[int, int, str, int], None] | None = None

    def __contains__(self, job: int) -> bool:
        return job in self._gangs

    def resume(
        self, job: int, whole: core.Workload, groups: Groups, terminating: Mapping[str, int], now_ms: int
    ) -> None:
        """Adds a gang that already holds quota, with its surplus."""
        self._gangs[job] = gang = _Gang(whole, dict(groups), dict(terminating))
        self._engine.put(gang.parts()[0])
        self._begin(job, gang, now_ms)

    def admit(self, job: int, whole: core.Workload, groups: Groups, now_ms: int) -> None:
        """Adds a gang that the engine has admitted, and asks for its surplus."""
        self._gangs[job] = gang = _Gang(whole, dict(groups))
        self._begin(job, gang, now_ms)

    def _begin(self, job: int, gang: _Gang, now_ms: int) -> None:
        for name in gang.groups:
            self._report(job, gang, name, now_ms)
        self._refresh(gang)

    def ask(self, job: int, asked: Mapping[str, int], now_ms: int) -> None:
        """Changes the pods that a gang asks for, by pod set. Workers that it no longer asks for go at
        once."""
        gang = self._gangs[job]
        for name, pods in asked.items():
            group = gang.groups[name]
            group = gang.groups[name] = replace(group, asked=max(group.minimum, min(pods, group.maximum)))
            if gang.granted(name) > group.asked:
                self._resize(gang, name, group.asked)
            self._report(job, gang, name, now_ms)
        self._refresh(gang)

    def ask_at_limits(self, excluded: Collection[tuple[int, str]]) -> None:
        """Lets each group, by job and pod set, ask for another replica if its demand is met, and no quota is
        free."""
        available = cache(self._engine.available)  # many gangs share a queue
        for job, gang in self._gangs.items():
            for name in self._full(gang, available):
                if (job, name) not in excluded:
                    self._ask_for_another(gang, name)
            self._refresh(gang)

    def ask_for_another(self, job: int, pod_set: str) -> None:
        """Lets a group ask for another replica if its demand is met."""
        gang = self._gangs[job]
        self._ask_for_another(gang, pod_set)
        self._refresh(gang)

    @staticmethod
    def _ask_for_another(gang: _Gang, pod_set: str) -> None:
        group, granted = gang.groups[pod_set], gang.granted(pod_set)
        if group.asked <= granted and granted + group.replica <= group.maximum:
            gang.groups[pod_set] = replace(group, asked=granted + group.replica)

    def _full(self, gang: _Gang, available: Callable[[str, core.FlavorResource], int]) -> set[str]:
        """Returns the pod sets for whose next replica no quota is free."""
        sizes = {name: group.pod_set(gang.granted(name), 0) for name, group in gang.groups.items()}
        free = partial(available, gang.whole.cluster_queue)
        return {name for name, count in offers(gang.whole, sizes, free).items() if not count}

    def grow(self, admitted: Mapping[str, core.Admission], job: int, now_ms: int) -> None:
        """Adds replicas of a gang that the engine has just admitted, by key."""
        gang = self._gangs[job]
        assert gang.whole.admission is not None
        gang.whole = replace(gang.whole, admission=grown(gang.whole.admission, admitted.values()))
        for name in dict.fromkeys(map(pod_set_of, admitted)):
            self._report(job, gang, name, now_ms)
        self._refresh(gang)

    def shrink(self, job: int, pod_set: str, replicas: int, now_ms: int) -> int:
        """Preempts replicas, which hold quota until they have ended. Returns their pods."""
        gang = self._gangs[job]
        pods = replicas * gang.groups[pod_set].replica
        gang.terminating[pod_set] = gang.terminating.get(pod_set, 0) + pods
        self._resize(gang, pod_set, gang.granted(pod_set) - pods)
        self._report(job, gang, pod_set, now_ms)
        self._refresh(gang)
        return pods

    def end_workers(self, job: int, pod_set: str, pods: int) -> None:
        """Releases the quota of preempted workers; does nothing if their gang has ended since."""
        gang = self._gangs.get(job)
        if gang is not None and gang.terminating.get(pod_set):
            gang.terminating[pod_set] = max(0, gang.terminating[pod_set] - pods)
            self._refresh(gang)

    def evict(self, job: int) -> None:
        """Evicts a gang, which then asks for nothing."""
        gang = self._gangs.get(job)
        if gang is not None:
            gang.whole = replace(gang.whole, evicted=True)
            self._refresh(gang)

    def remove(self, job: int, now_ms: int) -> None:
        """Removes the surplus of a gang that has released its quota."""
        gang = self._gangs.pop(job, None)
        if gang is not None:
            self.record.end(now_ms, job)
            for key in gang.surplus:
                self._engine.remove(key)
            self.pending -= sum(map(_waits, gang.surplus.values()))

    def granted(self, job: int, pod_set: str) -> int:
        """Returns the pods of a group that hold quota."""
        return self._gangs[job].granted(pod_set)

    def groups(self, job: int) -> Groups:
        """Returns what a gang asks for now."""
        return self._gangs[job].groups

    def admission(self, job: int) -> core.Admission:
        """Returns the quota that a gang holds."""
        admission = self._gangs[job].whole.admission
        assert admission is not None, "only gangs with quota are elastic"
        return admission

    def _resize(self, gang: _Gang, pod_set: str, pods: int) -> None:
        assert gang.whole.admission is not None
        gang.whole = replace(gang.whole, admission=resized(gang.whole.admission, {pod_set: pods}))

    def _report(self, job: int, gang: _Gang, pod_set: str, now_ms: int) -> None:
        self.record.note(now_ms, job, pod_set, gang.size(pod_set))
        if self.on_size is not None:
            self.on_size(now_ms, job, pod_set, gang.granted(pod_set))

    def _refresh(self, gang: _Gang) -> None:
        """Updates the surplus in the engine."""
        surplus = {part.key: part for part in gang.parts()[1:]}
        for key in gang.surplus.keys() - surplus.keys():
            self._engine.remove(key)
        for part in surplus.values():
            self._engine.put(part)
        self.pending += sum(map(_waits, surplus.values())) - sum(map(_waits, gang.surplus.values()))
        gang.surplus = surplus


def _waits(replica: core.Workload) -> bool:
    return replica.admission is None


def may_grow(configuration: QueueConfiguration, admission: core.Admission) -> bool:
    """Returns whether a gang may get more than its minimum, as muster/cluster/elasticity.py does: its
    admission checks only request nodes, which are in no topology."""
    flavors = {flavor for assigned in admission.pod_sets for flavor in assigned.flavors.values()}
    checks = configuration.snapshot.cluster_queues[admission.cluster_queue].checks
    applied = [check for check in checks if not check.flavors or check.flavors & flavors]
    placed = (a for a in admission.pod_sets if a.topology is not None or a.topology_delayed)
    in_topology = {flavor for assigned in placed for flavor in assigned.flavors.values()}
    requested = [check for check in applied if not check.flavors or check.flavors & in_topology]
    return all(check.provisions for check in applied) and not (in_topology and requested)
