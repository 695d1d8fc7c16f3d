"""Deletes pods beyond those admitted: pods that KubeRay created twice, and pods that it lost track of.

KubeRay v1.6.2 waits 30 s for a pod that it created to appear in its cache, and then assumes that the pod is
gone (controllers/ray/expectations/scale_expectations.go: ExpectationsTimeout). If its watch of pods is
interrupted for longer, as after an outage of the API server (client-go's reflectors back off for up to a
minute), it creates all pods again. Once it sees two heads, it stops reconciling the RayCluster and asks for
the extra head to be deleted (raycluster_controller.go: reconcilePods): the job never starts, and uses twice
its quota.

KubeRay finds the pods of a RayCluster by the labels of their cluster and group (association.go), the garbage
collector by their owner. A pod without these keeps running after KubeRay has created a replacement.
"""

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.scaling import stored_sizes
from muster.cluster.pod_sets import age, pod_set_of
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.gangs.stops import POD_GRACE_S
from muster.controller.workload.events import on_workload
from muster.controller.workload.suspension import must_stop
from muster.kube.kinds import BATCH_JOBS, PODS
from muster.kube.writes import Delete
from muster.objects import workload_status
from muster.objects.core import Pod
from muster.objects.kueue import Workload


def deletions(workload: Workload, cluster: ClusterState) -> Iterator[PlannedWrite]:
    """Yields deletions of the pods that KubeRay can't find, and of the newest pods of each group beyond the
    admitted count: KubeRay continues with the oldest.

    Skips a gang that must stop, whose pods are all deleted anyway."""
    job = cluster.job_of(workload)
    if not workload_status.is_admitted(workload.status) or job is None or job.outcome is not None:
        return
    if must_stop(workload, job):
        return
    admitted = workload.status.admission.pod_set_assignments if workload.status.admission else ()
    # Pods of elastic pod sets beyond the admitted count wait for quota, or return it (elastic_gangs.py).
    elastic = stored_sizes(workload)
    counts = {a.name: None if a.name in elastic else a.count for a in admitted}
    running = [pod for pod in cluster.live_pods_of(workload) if not pod.metadata.deletion_timestamp]
    lost = [pod for pod in running if _is_lost(pod, counts)]
    operator = job.operator.name
    yield from _deletions(workload, lost, f"{operator} can't find them")
    yield from _deletions(workload, _duplicates(running, lost, counts), f"{operator} created them twice")


def _deletions(workload: Workload, pods: list[Pod], why: str) -> Iterator[PlannedWrite]:
    for pod in pods:
        message = f"Deleting {len(pods)} pods beyond those admitted: {why}"
        events = (on_workload(workload, "DeletedPods", message, warning=True),) if pod is pods[0] else ()
        yield PlannedWrite(pod.metadata.uid, Delete(PODS, pod.key, POD_GRACE_S), events)


def _is_lost(pod: Pod, pod_sets: Container[str]) -> bool:
    """Returns whether neither the job's operator nor the Job controller can find the pod by its owner and
    labels."""
    creator = pod.metadata.controller
    is_of_batch_job = creator is not None and creator.kind == BATCH_JOBS.name
    return not is_of_batch_job and pod_set_of(pod) not in pod_sets


def _duplicates(running: list[Pod], lost: list[Pod], counts: Mapping[str, int | None]) -> list[Pod]:
    """Returns the newest pods of each RayCluster and pod set beyond the admitted count, if there is one."""
    groups: dict[tuple[str, str], list[Pod]] = defaultdict(list)
    for pod in running:
        creator = pod.metadata.controller
        pod_set = pod_set_of(pod)
        if creator is not None and pod_set is not None and pod_set in counts and pod not in lost:
            groups[creator.uid, pod_set].append(pod)
    return [
        pod
        for (_, name), pods in groups.items()
        if (count := counts[name]) is not None
        for pod in sorted(pods, key=age)[count:]
    ]
