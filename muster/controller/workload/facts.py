"""Facts about a Workload that its life depends on: its job, its pods, its queues, and times."""

from collections import Counter
from typing import TypeVar

from msgspec.structs import replace

from muster.admission import StopPolicy
from muster.admission.lifecycle import (
    DEACTIVATED,
    DeactivationTarget,
    EvictedWorkload,
    PodsReady,
    Readiness,
    ReservedWorkload,
)
from muster.cluster import ownership, retries
from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import running_counts
from muster.cluster.jobs.batch_job import BATCH_JOB
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.scaling import stored_sizes
from muster.cluster.pod_sets import pod_set_of
from muster.configuration.configuration import Configuration, Retention
from muster.controller.workload.suspension import quota_may_be_released
from muster.controller.workload.transitions import core_check
from muster.kube.kinds import BATCH_JOBS
from muster.objects import workload_status
from muster.objects.core import Pod
from muster.objects.kueue import (
    AdmissionCheckState,
    ReclaimablePod,
    RequeueState,
    Workload,
    WorkloadStatus,
)
from muster.objects.meta import Condition, find_condition, millis, rfc3339

T = TypeVar("T", Condition, AdmissionCheckState)

SKEW_MS_MAX = 10_000  # tolerated difference between the clocks of two replicas
UNLIMITED = Retention()


class Facts:
    """The facts that a pass observes about one Workload, computed on demand: most Workloads need only a few.

    Methods with a parameter `status` use it in place of the persisted status, as the pass may have advanced
    it already."""

    __slots__ = ("cluster", "configuration", "job", "now_ms", "workload")

    def __init__(
        self, workload: Workload, cluster: ClusterState, configuration: Configuration, now_ms: int
    ) -> None:
        self.workload, self.cluster = workload, cluster
        self.configuration, self.now_ms = configuration, now_ms
        self.job = cluster.job_of(workload)

    @property
    def is_without_job(self) -> bool:
        """True for a Workload that was created without a job: its creator starts, stops and reports its
        pods."""
        return self.job is None and ownership.job_of(self.workload) is None

    @property
    def job_stopped(self) -> bool:
        """True once a user has stopped the job."""
        return self.job is not None and self.job.stop_requested

    def gang_is_stopped(self) -> bool:
        """Returns whether the quota of the gang may be released. Its ProvisioningRequests must be deleted
        before, as the requests of the next attempt have the same names."""
        if not quota_may_be_released(self.workload, self.job, self.cluster, self.now_ms):
            return False
        return not self.cluster.requests_of(self.workload)

    def pods_ready(self) -> bool:
        """Returns whether the job runs and, with waitForPodsReady, so do all of its pods."""
        if self.job is None or not self.job.running:
            return False
        return self.configuration.wait_for_pods_ready is None or self.pods_run()

    def pods_run(self) -> bool:
        """Returns whether all of the gang's heads and workers run, on nodes that respond; of elastic worker
        groups, as many as the gang can't run without. Its job doesn't
        show that: KubeRay reports a RayCluster that was ready as ready, and its RayJob as Running, after a
        pod was lost and while its replacement finds no node (v1.6.2, raycluster_controller.go:
        calculateStatus). Its submitter doesn't count: KubeRay creates it once the cluster is ready."""
        pods, sizes = self.cluster.live_pods_of(self.workload), stored_sizes(self.workload)
        running = Counter[str | None]()
        for pod in pods:
            if self._is_helper(pod):
                continue
            runs = pod.status.phase == "Running" and not pod.metadata.deletion_timestamp
            runs = runs and not pod.is_on_lost_node
            pod_set = pod_set_of(pod) if sizes else None
            if not runs and pod_set not in sizes:
                return False
            running[pod_set] += runs
        return all(running[name] >= group.minimum for name, group in sizes.items())

    def _is_helper(self, pod: Pod) -> bool:
        """Returns whether the pod is of a Job that KubeRay created for the gang."""
        creator = pod.metadata.controller
        if creator is None or creator.kind != BATCH_JOBS.name:
            return False
        if self.job is None:
            return True
        return creator.uid != self.job.metadata.uid and self.job.kind not in BATCH_JOB.created_by

    def reclaimable_pods(self, job: Job, status: WorkloadStatus) -> tuple[ReclaimablePod, ...]:
        """Returns the pods that are not replaced. Of a job that its user has shrunk, these include the
        removed pods, once they no longer run."""
        if not job.shrinks or status.admission is None:
            return job.reclaimable_pods
        sizes, pod_sets = {pods.name: pods.count for pods in job.pod_sets}, self.workload.spec.pod_sets
        removed = {pods.name: pods.count - sizes.get(pods.name, pods.count) for pods in pod_sets}
        if not any(count > 0 for count in removed.values()):
            return job.reclaimable_pods  # of most jobs, whose pods need not be counted
        ended = {pods.name: pods.count for pods in job.reclaimable_pods}
        live = running_counts(self.workload, self.cluster)
        counts: dict[str, int] = {}
        for pods in pod_sets:
            unused = ended.get(pods.name, 0)
            free = min(removed[pods.name], pods.count - unused - live.get(pods.name, 0))
            counts[pods.name] = unused + max(free, 0)
        return tuple(ReclaimablePod(name=name, count=count) for name, count in counts.items() if count)

    def retry_due_ms(self) -> int | None:
        """Returns when the retry that the job requests is granted; None if that is not in the future."""
        retry = retries.requested(self.workload, self.job, self.now_ms, self.configuration.backoff)
        return retry.due_ms if retry is not None and retry.due_ms > self.now_ms else None

    def retention_due_ms(self) -> int | None:
        """Returns the end of the Workload's retention; None if that is not in the future."""
        end_ms = retention_end_ms(self.workload, self.configuration.retention)
        return end_ms if end_ms is not None and end_ms > self.now_ms else None

    def reserved(self, status: WorkloadStatus) -> ReservedWorkload:
        """Returns the core's view of a Workload that holds quota and is not evicted."""
        cluster_stop, local_stop = self._stop_policies(status)
        target = find_condition(status.conditions, workload_status.DEACTIVATION_TARGET)
        return ReservedWorkload(
            key=self.workload.key,
            active=self.workload.spec.active,
            target=DeactivationTarget(target.reason, target.message) if target else None,
            job_stopped=self.job_stopped,
            checks=tuple(core_check(check) for check in status.admission_checks),
            cluster_queue_stop=cluster_stop,
            local_queue_stop=local_stop,
            admitted_at_ms=workload_status.admitted_at_ms(status),
            unplaced=workload_status.is_unplaced(status),
            pods=readiness_of(status),
            requeues=status.requeue_state.count if status.requeue_state else 0,
            max_run_s=self.workload.spec.maximum_execution_time_seconds,
            past_run_s=status.accumulated_past_execution_time_seconds or 0,
        )

    def evicted(self, status: WorkloadStatus, requeued: Condition) -> EvictedWorkload:
        """Returns the core's view of a Workload without quota, whose condition Requeued is false."""
        cluster_stop, local_stop = self._stop_policies(status)
        requeue_at_ms = None
        if status.requeue_state is not None and not retries.cuts_short(self.workload, status):
            requeue_at_ms = millis(status.requeue_state.requeue_at)
        return EvictedWorkload(
            reason=requeued.reason,
            requeue_at_ms=requeue_at_ms,
            job_stopped=self.job_stopped,
            cluster_queue_stop=cluster_stop,
            local_queue_stop=local_stop,
        )

    def _stop_policies(self, status: WorkloadStatus) -> tuple[StopPolicy, StopPolicy]:
        """Returns the stop policies of the ClusterQueue and the LocalQueue. The ClusterQueue is that of the
        reserved quota, if any; else that of the LocalQueue."""
        local = self.cluster.local_queue_of(self.workload)
        reserved_in = (
            status.admission.cluster_queue if workload_status.holds_quota(status) and status.admission else ""
        )
        queue = self.cluster.cluster_queues.get(reserved_in or (local.spec.cluster_queue if local else ""))
        return (
            StopPolicy(queue.spec.stop_policy) if queue else StopPolicy.NONE,
            StopPolicy(local.spec.stop_policy) if local else StopPolicy.NONE,
        )


def readiness_of(status: WorkloadStatus) -> PodsReady | None:
    """Returns the readiness of the pods by the condition PodsReady; None without the condition."""
    condition = find_condition(status.conditions, workload_status.PODS_READY)
    if condition is None:
        return None
    if condition.reason in Readiness.__members__.values():
        readiness = Readiness(condition.reason)
    else:
        readiness = Readiness.STARTED if condition.status == "True" else Readiness.WAIT_FOR_START
    return PodsReady(readiness, millis(condition.last_transition_time))


def retention_end_ms(workload: Workload, retention: Retention) -> int | None:
    """Returns the end of the Workload's retention; None if it is neither finished nor deactivated, or is
    retained forever."""
    if retention == UNLIMITED:
        return None
    status = workload.status
    if workload_status.is_finished(status):
        since = find_condition(status.conditions, workload_status.FINISHED)
        retention_s = retention.after_finished_s
    elif workload_status.is_evicted(status) and not workload.spec.active:
        since = find_condition(status.conditions, workload_status.EVICTED)
        retention_s = retention.after_deactivated_s
        if since is None or not since.reason.startswith(f"{DEACTIVATED}DueTo"):  # deactivated by a user
            return None
    else:
        return None
    if since is None or retention_s is None:
        return None
    return millis(since.last_transition_time) + 1000 * retention_s


def without_future_times(status: WorkloadStatus, now_ms: int) -> WorkloadStatus:
    """Sets future times of conditions and checks to `now_ms`, and shifts the end of the back-off so that its
    length stays the same. Tolerates SKEW_MS_MAX.

    A replica whose clock was ahead may have written such times. Back-offs and deadlines that are computed
    from them would end late by the same amount."""
    latest = rfc3339(now_ms + SKEW_MS_MAX)
    times = [condition.last_transition_time or "" for condition in status.conditions]
    times += [check.last_transition_time for check in status.admission_checks]
    if all(at <= latest for at in times):  # text comparison: the API's times are UTC in whole seconds
        return status

    def clamped(timed: T) -> T:
        is_future = (timed.last_transition_time or "") > latest
        return replace(timed, last_transition_time=rfc3339(now_ms)) if is_future else timed

    return replace(
        status,
        conditions=tuple(map(clamped, status.conditions)),
        admission_checks=tuple(map(clamped, status.admission_checks)),
        requeue_state=_shifted_backoff(status, latest, now_ms),
    )


def _shifted_backoff(status: WorkloadStatus, latest: str, now_ms: int) -> RequeueState | None:
    """Moves the end of the back-off by the error of the eviction's time, as the same replica wrote both."""
    state, evicted = status.requeue_state, find_condition(status.conditions, workload_status.EVICTED)
    if state is None or not state.requeue_at or evicted is None:
        return state
    if (evicted.last_transition_time or "") <= latest:
        return state
    ahead_ms = millis(evicted.last_transition_time) - now_ms
    return replace(state, requeue_at=rfc3339(millis(state.requeue_at) - ahead_ms))
