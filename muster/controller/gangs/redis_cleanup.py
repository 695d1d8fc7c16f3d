"""Bounds KubeRay's Redis clean-up of deleted RayClusters with GCS fault tolerance.

KubeRay v1.6.2 keeps such a RayCluster with a finalizer until a clean-up Job has run, for up to 300 s. The
Job's pod is the head's, including the user's init containers, with another Ray container
(raycluster_controller.go: rayClusterReconcile, buildRedisCleanupJob). KubeRay does this even for clusters
that were never admitted. To run this pod only within quota:

- A gang keeps its quota until the clean-up has ended; its head counts as at least the clean-up pod.
- If the gang has no quota, or the clean-up exceeds SUSPENSION_MS_MAX, the finalizer is removed, and the
  garbage collector deletes the Job. A gang without quota may lose its Workload before KubeRay deletes its
  RayCluster, as a RayService that is deleted while it waits.
- After a foreground deletion the finalizer is removed too: the collector deletes each Job that KubeRay
  creates, so the clean-up would not end.
- An admission policy refuses the Job of a RayCluster without the placement of an admission
  (components/admission/gangs/redis_cleanup.py). KubeRay 1.6 keeps an evicted RayService's RayCluster as it
  was admitted, so the label of that admission is removed; KubeRay 1.7 deletes the RayCluster.
"""

from collections.abc import Iterator

from muster.cluster.budget_usage import has_released_quota
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.ray_view import RayView
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.workload.events import on_job
from muster.controller.workload.suspension import SUSPENSION_MS_MAX
from muster.kube.writes import JsonPatch, MergePatch, remove_operation
from muster.objects import workload_status
from muster.objects.kueue import Workload
from muster.objects.meta import FOREGROUND_DELETION, millis
from muster.objects.names import WORKLOAD_UID_LABEL
from muster.objects.pods import read_template
from muster.objects.ray import REDIS_CLEANUP_FINALIZER

WITHOUT_QUOTA = "the gang has no quota for it"
BY_COLLECTOR = "with --cascade=foreground, the garbage collector deletes its Job"
HEAD_LABELS = "/spec/headGroupSpec/template/metadata/labels"  # of a RayCluster


def finalizer_removals(workload: Workload, cluster: ClusterState, now_ms: int) -> Iterator[PlannedWrite]:
    """Yields writes that end the Redis clean-up of the gang's RayClusters if the gang has no quota or the
    clean-up takes too long."""
    job = cluster.job_of(workload)
    holds_quota = workload_status.holds_quota(workload.status) and not has_released_quota(workload)
    for ray_cluster in (*([job] if job is not None else ()), *cluster.dependents_of(workload)):
        if not ray_cluster.cleans_redis_up:
            continue
        if not holds_quota:
            yield _removal(ray_cluster, WITHOUT_QUOTA)
        elif FOREGROUND_DELETION in ray_cluster.metadata.finalizers:
            yield _removal(ray_cluster, BY_COLLECTOR)
        elif _elapsed_ms(workload, ray_cluster, cluster, now_ms) >= SUSPENSION_MS_MAX:
            yield _removal(ray_cluster, f"it has not ended within {SUSPENSION_MS_MAX // 1000} s")


def finalizer_removals_without_workload(cluster: ClusterState) -> Iterator[PlannedWrite]:
    """Yields writes that end the clean-up of RayClusters in queues whose gang has no Workload any more."""
    for ray_cluster in cluster.clean_ups_without_workload():
        yield _removal(ray_cluster, WITHOUT_QUOTA)


def label_removals(workload: Workload, cluster: ClusterState) -> Iterator[PlannedWrite]:
    """Yields writes that remove the label of the last admission from the heads of a waiting gang's
    RayClusters, as a clean-up would have it too. KubeRay writes the whole spec when it resumes them."""
    if workload_status.holds_quota(workload.status):
        return
    for ray_cluster in cluster.dependents_of(workload):
        if not isinstance(ray_cluster, RayView) or not ray_cluster.has_redis_cleanup:
            continue
        head = read_template(ray_cluster.cluster_spec.head_group_spec.template)
        if WORKLOAD_UID_LABEL in head.metadata.labels:
            meta = ray_cluster.metadata
            removal = remove_operation(HEAD_LABELS, WORKLOAD_UID_LABEL)
            patch = JsonPatch(ray_cluster.kind, meta.key, (removal,), meta.resource_version)
            yield PlannedWrite(f"{meta.uid}/templates", patch)


def _elapsed_ms(workload: Workload, ray_cluster: Job, cluster: ClusterState, now_ms: int) -> int:
    """Returns how long the clean-up has run; timed for the Workload, so that each pass examines it."""
    reported_ms = now_ms - millis(ray_cluster.metadata.deletion_timestamp)
    return cluster.timers.elapsed_ms("cleans Redis up", workload.metadata.uid, reported_ms)


def _removal(ray_cluster: Job, why: str) -> PlannedWrite:
    meta = ray_cluster.metadata
    finalizers = [name for name in meta.finalizers if name != REDIS_CLEANUP_FINALIZER]
    body = {"metadata": {"finalizers": finalizers}}
    patch = MergePatch(ray_cluster.kind, meta.key, body, meta.resource_version)
    message = (
        f"Ended KubeRay's clean-up of Redis, as {why}: if the cluster has run, delete its storage namespace "
        "from Redis manually"
    )
    event = on_job(ray_cluster, "RedisNotCleanedUp", message, warning=True)
    return PlannedWrite(f"{meta.uid}/finalizers", patch, (event,))
