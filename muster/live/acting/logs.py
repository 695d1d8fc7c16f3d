"""Selects the pods whose logs to print, by KubeRay's labels."""

from collections.abc import Iterable

from muster.live.observed import ObservationError
from muster.objects.core import Pod
from muster.objects.meta import Object
from muster.objects.ray import CLUSTER_LABEL, GROUP_LABEL, HEAD_TYPE, NODE_TYPE_LABEL

ALL, HEAD, SUBMITTER = "all", "head", "submitter"
JOB_LABEL = "batch.kubernetes.io/job-name"


def clusters_of(job: Object, clusters: Iterable[Object]) -> list[str]:
    """Returns the names of the RayClusters that the job controls, and the name of the job, which may itself
    be a RayCluster."""
    owned = [c.metadata.name for c in clusters if _controller(c) == job.metadata.uid]
    return [job.metadata.name, *owned]


def pods_of(job: Object, clusters: Iterable[Object], pods: Iterable[Pod]) -> dict[str, str]:
    """Returns the pod set of each pod of the job, by pod name, in order of names."""
    names = set(clusters_of(job, clusters))
    pod_sets: dict[str, str] = {}
    for pod in sorted(pods, key=lambda pod: pod.metadata.name):
        labels = pod.metadata.labels
        if labels.get(CLUSTER_LABEL) in names:
            is_head = labels.get(NODE_TYPE_LABEL) == HEAD_TYPE
            pod_sets[pod.metadata.name] = HEAD if is_head else labels.get(GROUP_LABEL, "")
        elif labels.get(JOB_LABEL) == job.metadata.name:
            pod_sets[pod.metadata.name] = SUBMITTER
    return pod_sets


def chosen(pods: dict[str, str], pod_set: str | None) -> list[str]:
    """Returns the pods of a pod set; by default the pods with the driver's output: the submitter, else the
    head. Raises: ObservationError."""
    if not pods:
        raise ObservationError("the job has no pods: it waits for quota or has ended")
    sets = sorted(set(pods.values()))
    selected = pod_set or (SUBMITTER if SUBMITTER in sets else HEAD)
    names = [name for name, of in pods.items() if selected in (of, ALL)]
    if not names:
        raise ObservationError(
            f"the job has no pods in pod set {selected}; expected one of: {', '.join(sets)}, {ALL}"
        )
    return names


def _controller(obj: Object) -> str:
    return obj.metadata.controller.uid if obj.metadata.controller is not None else ""
