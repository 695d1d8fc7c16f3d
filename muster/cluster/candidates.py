"""Selects the Workloads that a decision considers: Workloads that hold quota or may get it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster import admission as core
from muster.cluster import eligibility, job_workload
from muster.cluster.claims import device_requests
from muster.cluster.cluster_state import ClusterState
from muster.cluster.job_workload import has_left_queue
from muster.cluster.jobs.job import StatusReason
from muster.objects import kueue, workload_status
from muster.objects.core import RuntimeClass
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.limits import LimitRange
from muster.objects.meta import find_condition
from muster.translation import core_workload
from muster.translation.devices import NO_DEVICES, DeviceRequests
from muster.translation.elastic import ElasticPodSet, split

PENDING_EVALUATION = "PendingEvaluation"  # a reason of QuotaReserved=False


@dataclass(frozen=True, slots=True)
class WorkloadInfo:
    """A Workload with the status, the priority and the ClusterQueue for the decision."""

    workload: kueue.Workload
    status: kueue.WorkloadStatus
    queue: str
    priority: int | None = None  # None: the priority in its spec
    limit_ranges: tuple[LimitRange, ...] = ()
    runtime_classes: Mapping[str, RuntimeClass] = field(default_factory=dict)
    elastic: Mapping[str, ElasticPodSet] = field(default_factory=dict)
    devices: DeviceRequests = NO_DEVICES

    def is_same(self, other: "WorkloadInfo") -> bool:
        """Returns whether the core would decide the same about both, so that a conversion can be reused."""
        return (
            self.workload is other.workload
            and (self.status is other.status or self.status == other.status)
            and (self.queue, self.priority) == (other.queue, other.priority)
            and self.limit_ranges == other.limit_ranges
            and self.runtime_classes == other.runtime_classes
            and self.elastic == other.elastic
            and self.devices == other.devices
        )

    def converted(self, rules: core.Rules) -> tuple[core.Workload, ...]:
        """Converts the Workload for decisions: the gang, and the surplus of an elastic gang. Raises:
        ValueError (including SnapshotError) if it is invalid."""
        whole = self.whole(rules)
        return split(whole, self.elastic) if self.elastic else (whole,)

    def whole(self, rules: core.Rules) -> core.Workload:
        """Converts the Workload; an elastic gang has all pods that hold quota. Raises: as `converted`."""
        return core_workload.workload(
            self.workload,
            self.status,
            self.queue,
            rules,
            self.limit_ranges,
            self.runtime_classes,
            self.priority,
            self.devices,
        )


def is_pending(workload: Workload, status: WorkloadStatus) -> bool:
    """Returns whether the Workload waits for quota: it neither holds quota nor has finished or is being
    deleted."""
    return (
        not workload_status.holds_quota(status)
        and not workload_status.is_finished(status)
        and not workload.metadata.deletion_timestamp
    )


def ineligibility(workload: Workload, status: WorkloadStatus, cluster: ClusterState) -> StatusReason | None:
    """Returns why a pending Workload may not get quota now, regardless of the free quota; None if it may."""
    job = cluster.job_of(workload)
    if has_left_queue(workload, job):
        return StatusReason(eligibility.MISCONFIGURED, "its job was deleted or has left the queue")
    if job is None and cluster.requests_of(workload):  # the next attempt's have the same names
        return StatusReason(
            PENDING_EVALUATION, "the ProvisioningRequests of its last admission are being deleted"
        )
    blocked = find_condition(status.conditions, workload_status.SUSPENSION_BLOCKED)
    if blocked is not None and blocked.status == "True":
        return StatusReason(eligibility.MISCONFIGURED, f"it can't be restarted yet: {blocked.message}")
    return eligibility.ineligibility(workload, job, cluster)


def is_unchecked(workload: Workload, cluster: ClusterState) -> bool:
    """Returns whether the dry run of the gang's pods has no result yet."""
    job = cluster.job_of(workload)
    return job is not None and cluster.pod_refusal(workload, job) is None


def candidate(
    workload: Workload,
    status: WorkloadStatus,
    cluster: ClusterState,
    elastic: Mapping[str, ElasticPodSet],
) -> WorkloadInfo | None:
    """Returns the candidate for the decision; None if the Workload neither holds quota nor may get it. A
    Workload that has just finished still holds its quota. `elastic` are its elastic pod sets."""
    if workload_status.is_finished(status) and not cluster.counts_against_quota(workload):
        return None
    admission = status.admission if workload_status.holds_quota(status) else None
    queue = admission.cluster_queue if admission else cluster.cluster_queue_of(workload)
    if queue is None or (admission is None and workload.metadata.deletion_timestamp):
        return None
    ranges, priority = cluster.limit_ranges_of(workload), job_workload.priority_now(workload, cluster)
    devices = device_requests(workload, queue, cluster)
    return WorkloadInfo(workload, status, queue, priority, ranges, cluster.runtime_classes, elastic, devices)
