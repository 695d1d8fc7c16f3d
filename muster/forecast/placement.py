"""Places the jobs of a trace in the queues of a configuration."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from muster import admission as core
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.results.outcome import SimulatedJob
from muster.forecast.simulation.worker_group import WorkerGroup
from muster.forecast.traces.trace import SizeDemand, TraceElastic, TraceGroup, TraceJob

PODS = "workers"  # name of the only pod set of a trace's job of a fixed size
HEAD = "head"  # name of the pods of an autoscaled job that are in no worker group; no group may have it


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedJob(SimulatedJob):
    """A job with its queue, priority and gang."""

    run_ms: int | None  # None: drawn from the run times of the trace's other jobs
    priority: int
    pod_sets: tuple[core.PodSet, ...]
    occurrence: int = 0  # number of earlier jobs of the trace with this name
    groups: Mapping[str, WorkerGroup] = field(default_factory=dict)  # of an autoscaled job, by pod set
    # What the groups ask for over time, by pod set; empty: always the same.
    demand: Mapping[str, tuple[SizeDemand, ...]] = field(default_factory=dict)

    @property
    def has_drawn_run_time(self) -> bool:
        """True if its run time is drawn: it is not recorded, and the job does not run until it is
        cancelled."""
        return self.run_ms is None and self.cancelled_ms is None


@dataclass(frozen=True, slots=True)
class Mapped:
    """Maps names of a trace to names of the configuration."""

    # From a queue, partition or user of the trace to a ClusterQueue or namespace/LocalQueue.
    queues: Mapping[str, str] = field(default_factory=dict)
    queue: str = ""  # of jobs that no other rule places
    classes: Mapping[str, str] = field(default_factory=dict)  # priority classes


@dataclass(frozen=True, slots=True)
class Placement:
    """The placed jobs of a trace."""

    jobs: Sequence[PlacedJob]
    left_out: Mapping[str, int]  # number of jobs that cannot be simulated, by problem


def place(
    jobs: Iterable[TraceJob],
    configuration: QueueConfiguration,
    mapped: Mapped = Mapped(),
) -> Placement:
    """Places every job that has a queue. A job that is larger than its queue can ever admit is placed, and
    waits."""
    placing = _Placing(configuration, mapped)
    numbered = enumerate(jobs)
    placed = [job for number, of in numbered if (job := placing.place(number, of)) is not None]
    return Placement(placed, dict(placing.left_out))


def missing_queues(configuration: QueueConfiguration, names: Iterable[str]) -> set[str]:
    """Returns the names that are no ClusterQueue, LocalQueue or namespace with a single queue."""
    return {name for name in names if _cluster_queue(configuration, name) is None}


@dataclass(frozen=True, slots=True)
class _Resolved:
    """The ClusterQueue of jobs with the same queue and user, or why they have none."""

    name: str | None
    problem: str = ""


class _Placing:
    """Assigns jobs to queues, with caches by queue and by gang shape."""

    def __init__(self, configuration: QueueConfiguration, mapped: Mapped) -> None:
        self._configuration, self._mapped = configuration, mapped
        self._queues: dict[tuple[str, str], _Resolved] = {}  # by queue and user of the trace
        self._pod_sets: dict[tuple[int, int, core.TopologyRequest | None], tuple[core.PodSet, ...]] = {}
        self._requests_by_queue = _topology_requests(configuration)
        self._names: Counter[str] = Counter()
        self._requests: dict[
            int, Mapping[str, int]
        ] = {}  # keeps the mappings alive whose ids are keys of `_pod_sets`
        self.left_out: Counter[str] = Counter()

    def place(self, number: int, job: TraceJob) -> PlacedJob | None:
        occurrence = self._names[job.name]
        self._names[job.name] += 1
        queue = self._queue_of(job)
        if queue is None:
            return None
        name = self._mapped.classes.get(job.priority_class, job.priority_class)
        return PlacedJob(
            name=job.name,
            submit_ms=job.submit_ms,
            queue=queue,
            priority_class=name,
            user=job.user,
            pods=job.pods,
            accelerators=accelerators(job.requests) * job.pods,
            number=number,
            occurrence=occurrence,
            cancelled_ms=job.cancelled_ms,
            run_ms=job.run_ms,
            priority=self._configuration.priorities.get(name, 0),
            pod_sets=self._gang(job, queue),
            groups={} if job.elastic is None else {of.name: _group(of) for of in job.elastic.groups},
            demand={} if job.elastic is None else {of.name: of.demand for of in job.elastic.groups},
        )

    def _queue_of(self, job: TraceJob) -> str | None:
        """Returns the ClusterQueue of a job, or counts why it has none."""
        names = job.queue, job.user
        if names not in self._queues:
            self._queues[names] = self._resolved(*names)
        queue = self._queues[names]
        if queue.name is None:
            self.left_out[queue.problem] += 1
        return queue.name

    def _resolved(self, queue: str, user: str) -> "_Resolved":
        """Resolves a queue or user of the trace. A mapped name has no other queue if its own is missing:
        otherwise, two sides of a comparison would place it differently without a word."""
        for name in (queue, user):
            if (target := self._mapped.queues.get(name)) is not None:
                problem = f"queue {target!r}, to which {name!r} is mapped, is not in the configuration"
                return _Resolved(_cluster_queue(self._configuration, target), problem)
        for name in filter(None, (queue, user)):
            if (cluster_queue := _cluster_queue(self._configuration, name)) is not None:
                return _Resolved(cluster_queue)
        if self._mapped.queue:
            problem = f"queue {self._mapped.queue!r} of all other jobs is not in the configuration"
            return _Resolved(_cluster_queue(self._configuration, self._mapped.queue), problem)
        return _Resolved(None, f"queue {queue or 'without a name'!r} is not in the configuration")

    def _gang(self, job: TraceJob, queue: str) -> tuple[core.PodSet, ...]:
        if job.elastic is not None:
            return self._elastic_gang(job.elastic, queue)
        topology = self._topology(job.topology, queue)
        shape = (job.pods, id(job.requests), topology)
        pod_sets = self._pod_sets.get(shape)
        if pod_sets is None:
            self._requests[id(job.requests)] = job.requests
            pod_sets = self._pod_sets[shape] = (core.PodSet(PODS, job.pods, job.requests, topology=topology),)
        return pod_sets

    def _elastic_gang(self, elastic: TraceElastic, queue: str) -> tuple[core.PodSet, ...]:
        """Returns the pod sets of an autoscaled job at its minimum."""
        fixed = (core.PodSet(HEAD, elastic.pods, elastic.requests),) if elastic.pods else ()
        groups = (
            core.PodSet(of.name, of.minimum, of.requests, topology=self._topology(of.topology, queue))
            for of in elastic.groups
        )
        return (*fixed, *groups)

    def _topology(self, recorded: core.TopologyRequest | None, queue: str) -> core.TopologyRequest | None:
        """Returns the topology request of pods, None if the queue's topologies are ignored."""
        if queue not in self._requests_by_queue:
            return None
        return recorded or self._requests_by_queue[queue]


def _group(group: TraceGroup) -> WorkerGroup:
    return WorkerGroup(group.minimum, group.replica, group.demand[0].asked, group.maximum)


def _topology_requests(configuration: QueueConfiguration) -> Mapping[str, core.TopologyRequest | None]:
    """Returns the request of jobs without one, by the ClusterQueues that have a flavor with a topology; none
    if topologies are ignored."""
    if not configuration.snapshot.topologies:
        return {}
    return {
        queue.name: next(filter(None, map(configuration.topology_requests.get, flavors)), None)
        for queue in configuration.snapshot.cluster_queues.values()
        if (flavors := [name for name in flavors_of(queue) if name in configuration.topologies])
    }


def flavors_of(queue: core.ClusterQueue) -> list[str]:
    """Returns the flavors of a queue, in order."""
    return [quotas.flavor for group in queue.groups for quotas in group.flavors]


def _cluster_queue(configuration: QueueConfiguration, name: str) -> str | None:
    """Returns the ClusterQueue with this name, of a LocalQueue, or of a namespace with a single queue."""
    queues, local = configuration.snapshot.cluster_queues, configuration.local_queues
    if name in queues:
        return name
    if name in local:
        return local[name]
    within = {target for key, target in local.items() if key.partition("/")[0] == name}
    return within.pop() if len(within) == 1 else None


def accelerators(requests: Mapping[str, int]) -> int:
    """Returns the accelerators that one pod requests: extended resources such as nvidia.com/gpu."""
    return sum(amount for resource, amount in requests.items() if "/" in resource)
