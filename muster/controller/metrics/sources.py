"""The values from which the functions of the table compute samples: a queue's figures and a status change."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from muster.admission.quantities import in_api_unit
from muster.cluster import provisioning_timeouts
from muster.cluster.queue_counts import QueueCount, Resource, queue_of
from muster.controller.metrics.observer import CompletedPass
from muster.controller.workload.events import ObjectEvent
from muster.objects import workload_status
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, millis

EVICTED_EVENT = "EvictedDueTo"
CHECK_EVENTS = (f"{EVICTED_EVENT}AdmissionCheck", "AdmissionCheckRejected")

Labels = tuple[str, ...]
"""Label values, in the order of the metric's labels."""
Sample = tuple[Labels, float]


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The figures of a ClusterQueue, from the counts of its Workloads, as its status may be outdated."""

    name: str
    # Whether the ClusterQueue exists: Workloads may still hold quota of a deleted one.
    exists: bool
    cohort: str
    count: QueueCount
    nominal: Mapping[Resource, int]

    def by_resource(self, amounts: Iterable[tuple[Resource, int]]) -> Iterator[Sample]:
        """Yields the amounts by cohort, queue, flavor and resource; 0 for resources without one. Nothing for
        a queue that no longer exists."""
        if self.exists:
            for (flavor, resource), amount in (dict.fromkeys(self.nominal, 0) | dict(amounts)).items():
                yield (self.cohort, self.name, flavor, resource), in_api_unit(resource, amount)


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A change of a Workload's status that a pass has written, and its event."""

    event: ObjectEvent
    workload: Workload
    status: WorkloadStatus
    passed: CompletedPass

    @property
    def queue_and_priority(self) -> tuple[str, str]:
        """The ClusterQueue and the priority class, as labels of a metric."""
        admission, reference = self.status.admission, self.workload.spec.priority_class_ref
        queue = admission.cluster_queue if admission else queue_of(self.workload, self.passed.cluster)
        return queue, reference.name if reference else ""

    @property
    def queued_s(self) -> float:
        """The time since the Workload was created or last requeued."""
        requeued = find_condition(self.status.conditions, workload_status.REQUEUED)
        if requeued is not None and requeued.status == "True":
            return (self.passed.now_ms - millis(requeued.last_transition_time)) / 1000
        return (self.passed.now_ms - millis(self.workload.metadata.creation_timestamp)) / 1000

    @property
    def reserved_s(self) -> float:
        """The time since the quota was reserved."""
        reserved = find_condition(self.status.conditions, workload_status.QUOTA_RESERVED)
        reserved_ms = millis(reserved.last_transition_time) if reserved else self.passed.now_ms
        return max(0, self.passed.now_ms - reserved_ms) / 1000

    @property
    def preemptor_and_reason(self) -> tuple[str, str]:
        """The queue of the preemptor, and the reason of the preemption."""
        preempted = find_condition(self.status.conditions, workload_status.PREEMPTED)
        preemptors, cluster = self.passed.plan.statistics.preemptors, self.passed.cluster
        preemptor = cluster.workloads.get(preemptors.get(self.workload.key, ""))
        return queue_of(preemptor, cluster) if preemptor else "", preempted.reason if preempted else ""

    def evictions(self) -> Iterable[Sample]:
        """Yields a sample if the change is an eviction."""
        if self.event.reason.startswith(EVICTED_EVENT):
            queue, priority = self.queue_and_priority
            yield (queue, self.event.reason.removeprefix(EVICTED_EVENT), priority), 1

    def provisioning_timeouts(self) -> Iterable[Sample]:
        """Yields a sample if a request for nodes has timed out."""
        if self.event.reason in CHECK_EVENTS and provisioning_timeouts.reports_timeout(self.event.message):
            yield self.queue_and_priority[:1], 1
