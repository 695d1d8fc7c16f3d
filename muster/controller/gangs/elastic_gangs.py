"""The writes that let an elastic gang grow, and make it shrink.

Ray's autoscaler creates and removes workers by `replicas` of its RayCluster, up to `maxReplicas`, which
Muster sets to the replicas with quota and those that fit into free quota now, or preempt surplus (passes/
growth_offers.py): the autoscaler then turns to another group in its next loop, while it would wait for
minutes for a pod that is pending. All workers are
created with a gate, which is opened for as many as hold quota (growth_gates.py).

Growth on a queued pool also needs nodes. The autoscaler asks for it under a limit by quota. Once the quota is
granted, the limit falls to the pods with nodes until the request for the others is provisioned.

Quota that is preempted is still used by the pods. The autoscaler keeps its limit for the configured notice,
and then chooses the workers to remove. Pods that still run after that are deleted, whatever the tenant does.
"""

from collections.abc import Iterator, Mapping

from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import granted_counts, running_counts, scaled_clusters
from muster.cluster.growth_nodes import GroupNodes
from muster.cluster.jobs.gang import HEAD
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.scaling import Sizes, cap_operations, stored_sizes
from muster.cluster.pod_sets import by_pod_set
from muster.cluster.queued_growth import nodes_by_group
from muster.controller.gangs.growth_gates import openings
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.gangs.shrink_announcements import announcements
from muster.controller.gangs.stops import POD_GRACE_S
from muster.controller.workload.events import on_workload
from muster.controller.workload.surplus import REMOVAL_MS, shrinking_ms
from muster.kube.kinds import PODS
from muster.kube.writes import Delete, JsonPatch
from muster.objects.core import Pod
from muster.objects.kueue import Workload

Offers = Mapping[str, int]
"""The replicas that would be admitted if the job asked for them, by pod set."""


def caps_at_start(workload: Workload) -> dict[str, int]:
    """Returns `maxReplicas` of each group for the start of a gang: the replicas that hold quota."""
    sizes, counts = stored_sizes(workload), granted_counts(workload.status)
    return {name: counts.get(name, 0) // group.num_of_hosts for name, group in sizes.items()}


def elastic_writes(
    workload: Workload, cluster: ClusterState, offers: Offers | None, now_ms: int, notice_ms: int
) -> Iterator[PlannedWrite]:
    """Yields the writes for a running gang: limits, gates to open, announcements, and pods to delete. Limits
    stay as they are if `offers` is None, which is unknown."""
    sizes = stored_sizes(workload)
    if not sizes:
        return
    elapsed_ms = shrinking_ms(workload.status, now_ms)
    pods = by_pod_set(p for p in cluster.live_pods_of(workload) if not p.metadata.deletion_timestamp)
    running, counts = running_counts(workload, cluster), granted_counts(workload.status)
    nodes = nodes_by_group(workload, workload.status, cluster, now_ms)
    free = {name: counts[name] - running.get(name, 0) for name in sorted(sizes.keys() & counts.keys())}
    yield from openings(workload, cluster, pods, free, nodes)
    yield from announcements(workload.status, pods.get(HEAD, ()), notice_ms)
    if offers is not None:
        in_notice = elapsed_ms < notice_ms
        yield from _limits(workload, cluster, offers, running, nodes, in_notice=in_notice)
    if elapsed_ms >= notice_ms + REMOVAL_MS:
        yield from _removals(workload, sizes, pods, counts)


def _limits(
    workload: Workload,
    cluster: ClusterState,
    offers: Offers,
    running: Mapping[str, int],
    nodes: Mapping[str, GroupNodes],
    *,
    in_notice: bool,
) -> Iterator[PlannedWrite]:
    """Yields the limits of its RayClusters that change."""
    for scaled in scaled_clusters(workload, cluster):
        caps = _caps(workload, scaled, offers, running, nodes, in_notice=in_notice)
        operations = tuple(cap_operations(scaled.pod_set_templates, scaled.sizes, caps))
        if operations:
            meta = scaled.metadata
            patch = JsonPatch(scaled.kind, meta.key, operations, meta.resource_version)
            yield PlannedWrite(f"{meta.uid}/limits", patch, deferrable=True)


def _caps(
    workload: Workload,
    scaled: Job,
    offers: Offers,
    running: Mapping[str, int],
    nodes: Mapping[str, GroupNodes],
    *,
    in_notice: bool,
) -> dict[str, int]:
    counts, sizes = granted_counts(workload.status), stored_sizes(workload)
    caps: dict[str, int] = {}
    for name, current in scaled.sizes.items():
        group = sizes.get(name)
        if group is None:
            continue
        hosts = group.num_of_hosts
        granted = counts.get(name, 0) // hosts
        runs = -(-running.get(name, 0) // hosts)
        if runs > granted:
            # What is free now may be reserved for the gang that preempts.
            caps[name] = max(granted, min(runs, current.max_replicas)) if in_notice else granted
        elif name in nodes and nodes[name].is_limited:
            caps[name] = min(granted, nodes[name].limit(hosts))
        else:
            largest = min(group.max_replicas, granted + offers.get(name, 0))
            caps[name] = _stable(current.max_replicas, granted, max(granted, largest))
    return caps


def _stable(current: int, granted: int, largest: int) -> int:
    """Returns the limit to set: the current one as long as it leaves room to grow within the free quota,
    which changes with every admission."""
    return current if granted < current <= largest else largest


def _removals(
    workload: Workload, sizes: Sizes, pods: Mapping[str, list[Pod]], counts: Mapping[str, int]
) -> Iterator[PlannedWrite]:
    """Yields the deletions of the newest pods beyond those with quota."""
    excess = [
        pod
        for name in sizes.keys() & counts.keys()
        for pod in [p for p in pods.get(name, ()) if not p.awaits_growth][counts[name] :]
    ]
    for pod in excess:
        message = f"Deleting {len(excess)} pods without quota, as Ray's autoscaler did not remove them"
        events = (on_workload(workload, "DeletedPods", message, warning=True),) if pod is excess[0] else ()
        yield PlannedWrite(pod.metadata.uid, Delete(PODS, pod.key, POD_GRACE_S), events)
