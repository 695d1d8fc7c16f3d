"""Places the jobs of a trace in the queues of a configuration."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from muster import admission as core
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.results.outcome import SimulatedJob
from muster.forecast.traces.trace import TraceJob

PODS = "workers"  # name of the only pod set of a trace's job


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedJob(SimulatedJob):
    """A job with its queue, priority and gang."""

    run_ms: int | None  # None: drawn from the run times of the trace's other jobs
    priority: int
    pod_sets: tuple[core.PodSet, ...]


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


class _Placing:
    """Assigns jobs to queues, with caches by queue and by gang shape."""

    def __init__(self, configuration: QueueConfiguration, mapped: Mapped) -> None:
        self._configuration, self._mapped = configuration, mapped
        self._queues: dict[str, str] = {}
        self._pod_sets: dict[tuple[int, int], tuple[core.PodSet, ...]] = {}
        self._requests: dict[
            int, Mapping[str, int]
        ] = {}  # keeps the mappings alive whose ids are keys of `_pod_sets`
        self.left_out: Counter[str] = Counter()

    def place(self, number: int, job: TraceJob) -> PlacedJob | None:
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
            run_ms=job.run_ms,
            priority=self._configuration.priorities.get(name, 0),
            pod_sets=self._gang(job),
        )

    def _queue_of(self, job: TraceJob) -> str | None:
        for name in (job.queue, job.user):
            if name in self._queues:
                return self._queues[name]
            target = self._mapped.queues.get(name, name)
            queue = self._cluster_queue(target) if target else None
            if queue is not None:
                self._queues[name] = queue
                return queue
        if self._mapped.queue and (queue := self._cluster_queue(self._mapped.queue)) is not None:
            return queue
        self.left_out[f"queue {job.queue or 'without a name'!r} is not in the configuration"] += 1
        return None

    def _cluster_queue(self, name: str) -> str | None:
        """Returns the ClusterQueue with this name, of a LocalQueue, or of a namespace with a single queue."""
        queues, local = self._configuration.snapshot.cluster_queues, self._configuration.local_queues
        if name in queues:
            return name
        if name in local:
            return local[name]
        within = {target for key, target in local.items() if key.partition("/")[0] == name}
        return within.pop() if len(within) == 1 else None

    def _gang(self, job: TraceJob) -> tuple[core.PodSet, ...]:
        shape = (job.pods, id(job.requests))
        pod_sets = self._pod_sets.get(shape)
        if pod_sets is None:
            self._requests[id(job.requests)] = job.requests
            pod_sets = self._pod_sets[shape] = (core.PodSet(PODS, job.pods, job.requests),)
        return pod_sets


def accelerators(requests: Mapping[str, int]) -> int:
    """Returns the accelerators that one pod requests: extended resources such as nvidia.com/gpu."""
    return sum(amount for resource, amount in requests.items() if "/" in resource)
