"""Jobs that can never start: reasons of the admission core in an empty cluster."""

from collections.abc import Iterator
from dataclasses import dataclass

from muster import admission as core
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.futures import SimulationInputs
from muster.forecast.placement import PlacedJob


@dataclass(slots=True)
class Unstartable:
    """Jobs of a queue that wait for the same reason; the sentence is of the first of them."""

    queue: str
    why: str
    count: int = 0
    differ: bool = False  # the sentences of the others have other amounts

    @property
    def described(self) -> str:
        """The sentence for reports."""
        others = ", and others" if self.differ else ""
        return f"never start, even in the empty cluster: queue {self.queue}: {self.why}{others}"


def unstartable(inputs: SimulationInputs) -> Iterator[Unstartable]:
    """Yields the jobs that never start, by queue and reason. Each shape of a gang is examined once."""
    waiting = _Waiting(inputs.configuration)
    groups: dict[tuple[str, core.WaitReason], Unstartable] = {}
    for job in inputs.jobs:
        answer = waiting.of(job)
        if answer is not None:
            group = groups.setdefault((job.queue, answer.reason), Unstartable(job.queue, answer.message))
            group.count += 1
            group.differ |= answer.message != group.why
    yield from groups.values()


class _Waiting:
    """Asks an engine without workloads, with a cache by queue and gang."""

    def __init__(self, configuration: QueueConfiguration) -> None:
        self._engine = core.Engine(configuration.snapshot, configuration.rules)
        self._answers: dict[tuple[str, int], core.Waiting | None] = {}

    def of(self, job: PlacedJob) -> core.Waiting | None:
        """Returns why a job waits if no other job runs; None if it starts."""
        shape = job.queue, id(job.pod_sets)  # jobs with the same gang share it (placement.py)
        if shape not in self._answers:
            workload = core.Workload(
                key=job.name,
                uid=job.name,
                cluster_queue=job.queue,
                priority=job.priority,
                queued_at_ms=0,
                pod_sets=job.pod_sets,
            )
            self._answers[shape] = self._engine.lacks(workload, 0)
        return self._answers[shape]
