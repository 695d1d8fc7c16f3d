"""Pods that KubeRay created twice: more of a RayCluster than the gang has quota for.

KubeRay v1.6.2 waits 30 s for a pod that it created to appear in its cache, and then assumes that it is gone
(controllers/ray/expectations/scale_expectations.go: ExpectationsTimeout). If its watch of pods is down for
longer, as after an outage of the API server (client-go's reflectors back off for up to a minute), it creates
all of them again. Once it sees two heads, it stops reconciling the RayCluster and asks for the extra ones to
be deleted (raycluster_controller.go: reconcilePods): the job never starts, on twice its quota.
"""

from collections import defaultdict
from collections.abc import Iterator

from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.gangs.stops import POD_GRACE_S
from muster.controller.gangs.suspension import must_stop
from muster.controller.jobs.gang import HEAD
from muster.controller.workload.events import on_workload
from muster.kube.kinds import PODS, RAY_CLUSTERS
from muster.kube.writes import Delete
from muster.objects import workload_status
from muster.objects.core import Pod
from muster.objects.kueue import Workload
from muster.objects.ray import GROUP_LABEL, HEAD_TYPE, NODE_TYPE_LABEL


def deletions(workload: Workload, cluster: ClusterState) -> Iterator[PlannedWrite]:
    """Deletes the newest pods of each group beyond those admitted: KubeRay continues with the first set.

    Skips a gang that must stop: all of its pods are deleted anyway."""
    job = cluster.job_of(workload)
    if not workload_status.is_admitted(workload.status) or job is None or job.outcome is not None:
        return
    if must_stop(workload, job):
        return
    surplus = [pod for pods in _by_group(workload, cluster).values() for pod in pods]
    for pod in surplus:
        message = f"Deleting {len(surplus)} pods beyond those admitted: KubeRay created them twice"
        events = (on_workload(workload, "DeletedPods", message, warning=True),) if pod is surplus[0] else ()
        yield PlannedWrite(pod.metadata.uid, Delete(PODS, pod.key, POD_GRACE_S), events)


def _by_group(workload: Workload, cluster: ClusterState) -> dict[tuple[str, str], list[Pod]]:
    """Returns the surplus by RayCluster and pod set, without pods that are ending or have no pod set."""
    groups: dict[tuple[str, str], list[Pod]] = defaultdict(list)
    for pod in cluster.live_pods_of(workload):
        creator = pod.metadata.controller
        if creator is not None and creator.kind == RAY_CLUSTERS.name and not pod.metadata.deletion_timestamp:
            groups[creator.uid, _pod_set(pod)].append(pod)
    admitted = workload.status.admission.pod_set_assignments if workload.status.admission else ()
    counts = {assigned.name: assigned.count for assigned in admitted}
    return {
        (ray_cluster, name): sorted(pods, key=_age)[count:]
        for (ray_cluster, name), pods in groups.items()
        if (count := counts.get(name)) is not None
    }


def _pod_set(pod: Pod) -> str:
    labels = pod.metadata.labels
    return HEAD if labels.get(NODE_TYPE_LABEL) == HEAD_TYPE else labels.get(GROUP_LABEL, "")


def _age(pod: Pod) -> tuple[str, str]:
    """Sorts the oldest first; UTC in whole seconds, as the API writes times, sorts as text."""
    return pod.metadata.creation_timestamp, pod.metadata.name
