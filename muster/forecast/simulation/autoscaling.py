"""Autoscaled jobs over time: they ask for workers once they have started, and preempted workers end later."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from muster import admission as core
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.placement import PlacedJob
from muster.forecast.simulation.budgets import SpentUsage
from muster.forecast.simulation.elastic import ElasticGangs, may_grow
from muster.forecast.simulation.events import EventKind, Events
from muster.forecast.simulation.gangs import Gangs
from muster.forecast.simulation.worker_group import WorkerGroup
from muster.translation.elastic import gang_of, pod_set_of


@dataclass(frozen=True, slots=True)
class _Preempted:
    """Preempted workers of an attempt."""

    job: int
    row: int
    pod_set: str
    pods: int


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of the demand of an attempt."""

    job: int
    row: int
    pod_set: str
    position: int  # in the demand of the job


class Autoscaling:
    """The autoscaled jobs of one future. The gangs among `jobs` that have groups are elastic."""

    def __init__(
        self,
        configuration: QueueConfiguration,
        jobs: Sequence[PlacedJob],
        assumptions: Assumptions,
        elastic: ElasticGangs,
        gangs: Gangs,
        events: Events,
        spent: SpentUsage,
    ) -> None:
        self._configuration, self._jobs = configuration, jobs
        self._unmet_demand = assumptions.unmet_demand
        self._elastic, self._gangs, self._events, self._spent = elastic, gangs, events, spent
        self._before_growth: dict[int, core.Workload] = {}  # gangs that wait for quota, or for nodes
        self._preempted: list[_Preempted] = []
        self._changes: list[_Change] = []

    def queue(self, job: int, workload: core.Workload) -> None:
        """Notes a gang that waits for quota."""
        if self._jobs[job].groups:
            self._before_growth[job] = workload

    def admit(self, job: int, admission: core.Admission, now_ms: int) -> None:
        """Lets a gang that has just got quota ask for its surplus, if it may grow."""
        queued = self._before_growth.pop(job, None)
        if queued is not None and may_grow(self._configuration, admission):
            self.expect_growth(job, replace(queued, admission=admission, reserved_at_ms=now_ms), now_ms)

    def expect_growth(self, job: int, whole: core.Workload, now_ms: int) -> None:
        """Lets a gang with quota ask for its surplus: immediately, or once its nodes are provisioned."""
        assert whole.admission is not None
        if not self._gangs.needs_request(self._jobs[job].queue, whole.admission):
            self._ask(job, whole, now_ms)
            return
        running = self._gangs.running[job]
        if running.started_ms >= 0:
            self._before_growth[job] = whole
            self._events.add(running.started_ms, EventKind.ASKS, job, running.row)

    def grow(self, admitted: Mapping[str, core.Admission], job_of: Mapping[str, int], now_ms: int) -> None:
        """Adds the replicas that the core has admitted, by key; `job_of` are the jobs by gang."""
        for gang, job in job_of.items():
            replicas = {key: admission for key, admission in admitted.items() if gang_of(key) == gang}
            self._elastic.grow(replicas, job, now_ms)
            self._spent.resize(job, self._elastic.admission(job), now_ms)

    def shrink(self, preempted: Iterable[tuple[int, str]], now_ms: int, written_ms: int) -> None:
        """Preempts replicas of gangs that continue: a job and the key of its surplus for each."""
        counts = Counter((job, pod_set_of(key)) for job, key in preempted)
        for (job, pod_set), replicas in counts.items():
            pods = self._elastic.shrink(job, pod_set, replicas, now_ms)
            self.expect_end(job, pod_set, pods, written_ms)

    def expect_end(self, job: int, pod_set: str, pods: int, preempted_ms: int) -> None:
        """Releases the quota of preempted workers after their notice."""
        ended_ms = self._gangs.shrunk_ms(job, preempted_ms)
        self._events.add(ended_ms, EventKind.WORKERS_ENDED, job, len(self._preempted))
        self._preempted.append(_Preempted(job, self._gangs.running[job].row, pod_set, pods))

    def handle(self, kind: int, job: int, row: int, now_ms: int) -> bool:
        """Handles an event; returns whether it is about autoscaling."""
        if kind < EventKind.WORKERS_ENDED:  # most events
            return False
        match kind:
            case EventKind.WORKERS_ENDED:
                ended = self._preempted[row]
                if self._gangs.is_alive(job, ended.row):
                    self._elastic.end_workers(job, ended.pod_set, ended.pods)
            case EventKind.ASKS:
                if self._gangs.is_alive(job, row):
                    self._ask(job, self._before_growth.pop(job), now_ms)
            case EventKind.DEMAND_CHANGED:
                self._change_demand(self._changes[row], now_ms)
            case _:
                return False
        return True

    def _ask(self, job: int, whole: core.Workload, now_ms: int) -> None:
        placed, row = self._jobs[job], self._gangs.running[job].row
        groups = {name: self._asking(job, name, 0) for name in placed.groups}
        self._elastic.admit(job, whole, groups, now_ms)
        for name in placed.demand:
            self._expect_change(_Change(job, row, name, 1))

    def _asking(self, job: int, pod_set: str, position: int) -> WorkerGroup:
        group, demand = self._jobs[job].groups[pod_set], self._jobs[job].demand.get(pod_set)
        return group if demand is None else group.asking(demand[position], self._unmet_demand)

    def _expect_change(self, change: _Change) -> None:
        demand = self._jobs[change.job].demand[change.pod_set]
        started_ms = self._gangs.running[change.job].started_ms
        if change.position < len(demand) and started_ms >= 0:
            at_ms = started_ms + demand[change.position].after_ms
            self._events.add(at_ms, EventKind.DEMAND_CHANGED, change.job, len(self._changes))
            self._changes.append(change)

    def _change_demand(self, change: _Change, now_ms: int) -> None:
        job, pod_set = change.job, change.pod_set
        if self._gangs.is_alive(job, change.row) and job in self._elastic:
            asked = self._asking(job, pod_set, change.position).asked
            self._elastic.ask(job, {pod_set: asked}, now_ms)
            self._spent.resize(job, self._elastic.admission(job), now_ms)
            self._expect_change(replace(change, position=change.position + 1))
