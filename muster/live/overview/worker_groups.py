"""The worker groups of autoscaled gangs: what they are granted, ask for, and run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import asked_pods, granted_counts, scaled_clusters
from muster.cluster.jobs.scaling import REPLICAS_MAX, GroupSizes, stored_sizes
from muster.live.gang_pods import GangPods
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition
from muster.objects.ray import RayCluster
from muster.objects.workload_status import GROWTH_LIMITED, SHRINKING, holds_quota, is_evicted

SIZE_CONDITIONS = (SHRINKING, GROWTH_LIMITED)
"""Conditions about the size of an admitted gang, the more urgent first."""


@dataclass(frozen=True, slots=True)
class WorkerGroupRow:
    """A worker group; all numbers are of workers."""

    name: str
    minimum: int  # admitted with the head
    granted: int  # that hold quota
    asked: int  # by Ray's autoscaler
    maximum: int | None  # None: the job sets none
    running: int | None = None  # None: unknown


@dataclass(frozen=True, slots=True)
class ElasticRow:
    """The workers of an autoscaled gang, in all groups and by group."""

    granted: int
    asked: int
    running: int | None  # by the status of its RayCluster; None: unknown
    groups: tuple[WorkerGroupRow, ...]

    @property
    def text(self) -> str:
        """Granted, asked and running workers, as in 6/9/6."""
        running = "?" if self.running is None else self.running
        return f"{self.granted}/{self.asked}/{running}"


def elastic_row(workload: Workload, cluster: ClusterState) -> ElasticRow | None:
    """Returns the workers of a gang; None for a gang of a fixed size."""
    sizes = stored_sizes(workload)
    if not sizes:
        return None
    granted = granted_counts(workload.status) if holds_quota(workload.status) else {}
    asked = asked_pods(workload, cluster)
    groups = tuple(_group(name, sizes[name], granted.get(name, 0), asked[name]) for name in sorted(sizes))
    return ElasticRow(
        granted=sum(group.granted for group in groups),
        asked=sum(group.asked for group in groups),
        running=_running(workload, cluster),
        groups=groups,
    )


def size_messages(workload: Workload) -> Iterator[tuple[str, str]]:
    """Yields the conditions about the size of a gang that holds quota, with their messages."""
    status = workload.status
    if not holds_quota(status) or is_evicted(status):
        return
    for kind in SIZE_CONDITIONS:
        condition = find_condition(status.conditions, kind)
        if condition is not None and condition.status == "True":
            yield kind, condition.message


def with_running(row: ElasticRow, pods: GangPods) -> ElasticRow:
    """Returns the row with the running pods of each group."""
    running = [pods.pod_set(pod) for pod in pods.pods if pod.status.phase == "Running"]
    groups = tuple(replace(group, running=running.count(group.name)) for group in row.groups)
    return replace(row, running=sum(map(running.count, (g.name for g in groups))), groups=groups)


def waiting_growth(workload: Workload, cluster: ClusterState) -> Mapping[str, int]:
    """Returns the workers that a gang with quota asks for and is not granted, by pod set."""
    if not stored_sizes(workload) or not holds_quota(workload.status) or is_evicted(workload.status):
        return {}
    granted, asked = granted_counts(workload.status), asked_pods(workload, cluster)
    return {
        name: asked[name] - granted[name] for name in asked if asked[name] > granted.get(name, asked[name])
    }


def _group(name: str, group: GroupSizes, granted: int, asked: int) -> WorkerGroupRow:
    most = None if group.max_replicas >= REPLICAS_MAX else group.max_replicas * group.num_of_hosts
    return WorkerGroupRow(name, group.minimum, granted, asked, most)


def _running(workload: Workload, cluster: ClusterState) -> int | None:
    clusters = [scaled.obj for scaled in scaled_clusters(workload, cluster)]
    counts = [obj.status.available_worker_replicas for obj in clusters if isinstance(obj, RayCluster)]
    return sum(counts) if counts else None
