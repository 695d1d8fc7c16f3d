"""The pods whose logs a user wants to see, by KubeRay's labels."""

from collections.abc import Iterable

from muster.live.observed import ObservationError
from muster.objects.core import Pod
from muster.objects.meta import Object
from muster.objects.ray import CLUSTER_LABEL, GROUP_LABEL, HEAD_TYPE, NODE_TYPE_LABEL

ALL, HEAD, SUBMITTER = "all", "head", "submitter"
JOB_LABEL = "batch.kubernetes.io/job-name"


def clusters_of(job: Object, clusters: Iterable[Object]) -> list[str]:
    """Returns the names of the RayClusters that the job controls; its own name if it is a RayCluster."""
    owned = [c.metadata.name for c in clusters if _controller(c) == job.metadata.uid]
    return [job.metadata.name, *owned]


def pods_of(job: Object, clusters: Iterable[Object], pods: Iterable[Pod]) -> dict[str, str]:
    """Returns the pod sets of the job's pods, by the name of the pod, in order."""
    names = set(clusters_of(job, clusters))
    found: dict[str, str] = {}
    for pod in sorted(pods, key=lambda pod: pod.metadata.name):
        labels = pod.metadata.labels
        if labels.get(CLUSTER_LABEL) in names:
            is_head = labels.get(NODE_TYPE_LABEL) == HEAD_TYPE
            found[pod.metadata.name] = HEAD if is_head else labels.get(GROUP_LABEL, "")
        elif labels.get(JOB_LABEL) == job.metadata.name:
            found[pod.metadata.name] = SUBMITTER
    return found


def chosen(pods: dict[str, str], pod_set: str | None) -> list[str]:
    """Returns the pods of a pod set; without one those with the driver's output: the submitter's, else the
    head. Raises: ObservationError."""
    if not pods:
        raise ObservationError("it has no pods: it waits for its quota, or has ended")
    sets = sorted(set(pods.values()))
    wanted = pod_set or (SUBMITTER if SUBMITTER in sets else HEAD)
    found = [name for name, of in pods.items() if wanted in (of, ALL)]
    if not found:
        raise ObservationError(
            f"it has no pods of pod set {wanted}; expected one of: {', '.join(sets)}, {ALL}"
        )
    return found


def _controller(obj: Object) -> str:
    return obj.metadata.controller.uid if obj.metadata.controller is not None else ""
