"""Selects the pods whose logs to print, by KubeRay's labels."""

from collections.abc import Iterable, Sequence

from muster.cluster.jobs.kinds import JOB_KINDS
from muster.live.observed import ObservationError
from muster.objects.core import Pod
from muster.objects.meta import Object

ALL, HEAD, SUBMITTER = "all", "head", "submitter"
JOB_LABEL = "batch.kubernetes.io/job-name"
POD_SETS = tuple(job_kind.pod_set_of for job_kind in JOB_KINDS if job_kind.pod_set_of is not None)


def pods_of(job: Object, dependents: Iterable[Object], pods: Iterable[Pod]) -> dict[str, str]:
    """Returns the pod set of each pod of the job, by pod name, in order of names. `dependents` are jobs that
    the job may control, such as the RayClusters of a RayJob."""
    owned = [d.metadata.name for d in dependents if _controller(d) == job.metadata.uid]
    names = (job.metadata.name, *owned)
    pod_sets = {pod.metadata.name: _pod_set(pod, names) for pod in pods}
    return {pod: pod_set for pod, pod_set in sorted(pod_sets.items()) if pod_set is not None}


def _pod_set(pod: Pod, jobs: Sequence[str]) -> str | None:
    """Returns the pod set of a pod of one of these jobs; None if it belongs to none of them."""
    labels = pod.metadata.labels
    for name in jobs:
        for pod_set_of in POD_SETS:
            pod_set = pod_set_of(labels, name)
            if pod_set is not None:
                return pod_set
    return SUBMITTER if labels.get(JOB_LABEL, "") in jobs else None


def chosen(pods: dict[str, str], pod_set: str | None) -> list[str]:
    """Returns the pods of a pod set; by default the pods with the driver's output: the submitter, else the
    head, else the first pod set. Raises: ObservationError."""
    if not pods:
        raise ObservationError("the job has no pods: it waits for quota or has ended")
    sets = sorted(set(pods.values()))
    selected = pod_set or next((s for s in (SUBMITTER, HEAD) if s in sets), sets[0])
    names = [name for name, of in pods.items() if selected in (of, ALL)]
    if not names:
        raise ObservationError(
            f"the job has no pods in pod set {selected}; expected one of: {', '.join(sets)}, {ALL}"
        )
    return names


def _controller(obj: Object) -> str:
    return obj.metadata.controller.uid if obj.metadata.controller is not None else ""
