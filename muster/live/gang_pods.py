"""Finds the pods of a job: by the label that admission sets, else by the labels of the job's operator."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import asked_pods
from muster.cluster.jobs.job import Job, StatusReason
from muster.cluster.jobs.job_kind import PodSetOf
from muster.cluster.jobs.kinds import BY_KIND, JOB_KINDS
from muster.cluster.jobs.rayjob import SUBMITTER
from muster.cluster.phases import Phase, phase
from muster.kube.kinds import DETAILED_PODS, Kind
from muster.live.observed import Lister, list_or_reason
from muster.objects.batch import JOB_NAME_LABEL
from muster.objects.kueue import Workload
from muster.objects.meta import Object
from muster.objects.names import WORKLOAD_UID_LABEL
from muster.objects.pod_status import DetailedPod

PHASES = (Phase.ADMITTED, Phase.EVICTED, Phase.FINISHED)
"""Phases in which a gang may have pods."""


@dataclass(frozen=True, slots=True)
class PodListing:
    """Pods that include the pods of a gang."""

    pods: tuple[DetailedPod, ...] | None = None  # None: not listed
    refusal: str = ""  # why they cannot be listed


NO_PODS = PodListing()
"""The listing for a phase without pods."""


@dataclass(frozen=True, slots=True)
class GangPods:
    """The pods of a gang, sorted by name."""

    pods: tuple[DetailedPod, ...] = ()
    pod_sets: Mapping[str, str] = field(default_factory=dict)  # by pod name, as far as labels name them
    expected: int = 0  # pods of an admitted gang without its submitter, which follows later; 0: unknown
    operator: str = ""  # the name of the controller that creates the pods
    creation_failure: StatusReason | None = None

    def pod_set(self, pod: DetailedPod) -> str:
        """Returns the pod set of a pod; empty if its labels do not name it."""
        return self.pod_sets.get(pod.metadata.name, "")

    @property
    def created(self) -> int:
        """Returns the number of pods that count towards `expected`."""
        current = (pod for pod in self.pods if not pod.metadata.deletion_timestamp)
        return sum(self.pod_set(pod) != SUBMITTER for pod in current)


async def list_pods(kube: Lister, workload: Workload) -> PodListing:
    """Lists the pods with the Workload's UID as a label. Only Muster's controller sets this label: without
    such pods, lists all pods of the namespace, unless the job has finished. Raises: RequestError."""
    current, namespace = phase(workload.status), workload.metadata.namespace
    if current not in PHASES:
        return NO_PODS
    labels = {WORKLOAD_UID_LABEL: workload.metadata.uid}
    listed = await list_or_reason(kube, DETAILED_PODS, namespace, labels)
    if not listed and current is not Phase.FINISHED:
        listed = await list_or_reason(kube, DETAILED_PODS, namespace)
    return PodListing(refusal=listed) if isinstance(listed, str) else PodListing(tuple(listed))


def gang_pods(pods: Iterable[DetailedPod], workload: Workload, cluster: ClusterState) -> GangPods:
    """Selects the pods of a Workload's gang."""
    namespace, uid, job = workload.metadata.namespace, workload.metadata.uid, cluster.job_of(workload)
    inside = {pod.metadata.name: pod for pod in pods if pod.metadata.namespace == namespace}
    labelled = {n: pod for n, pod in inside.items() if pod.metadata.labels.get(WORKLOAD_UID_LABEL) == uid}
    if job is None:
        return GangPods(_by_name(labelled))
    dependents = cluster.dependents_of(workload)
    pod_sets = pods_of(job.kind, job.obj, (dependent.obj for dependent in dependents), inside.values())
    own = labelled | {name: inside[name] for name in pod_sets}
    failures = (creator.pod_creation_failure for creator in (job, *dependents))
    return GangPods(
        _by_name(own),
        pod_sets,
        _expected(workload, job, cluster),
        job.operator.name,
        next(filter(None, failures), None),
    )


def _by_name(pods: Mapping[str, DetailedPod]) -> tuple[DetailedPod, ...]:
    return tuple(pods[name] for name in sorted(pods))


def _expected(workload: Workload, job: Job, cluster: ClusterState) -> int:
    """Returns the pods of an admitted gang without its submitter. A worker group has no more than Ray's
    autoscaler asks for: workers with quota may wait for their nodes."""
    admission = workload.status.admission
    if admission is None or job.outcome is not None or phase(workload.status) is not Phase.ADMITTED:
        return 0
    granted = {entry.name: entry.count or 0 for entry in admission.pod_set_assignments}
    asked = asked_pods(workload, cluster)
    return sum(min(n, asked.get(name, n)) for name, n in granted.items() if name != SUBMITTER)


def pods_of(
    kind: Kind[Any], job: Object, dependents: Iterable[Object], pods: Iterable[Object]
) -> dict[str, str]:
    """Returns the pod set of each pod of the job, by pod name, in order of names. `dependents` are jobs that
    the job may control, such as the RayClusters of a RayJob."""
    owned = [d.metadata.name for d in dependents if _controller(d) == job.metadata.uid]
    names = (job.metadata.name, *owned)
    job_kinds = (BY_KIND[kind], *(created for created in JOB_KINDS if kind in created.created_by))
    pod_sets_of = [job_kind.pod_set_of for job_kind in job_kinds if job_kind.pod_set_of is not None]
    pod_sets = {pod.metadata.name: _pod_set(pod, names, pod_sets_of) for pod in pods}
    return {pod: pod_set for pod, pod_set in sorted(pod_sets.items()) if pod_set is not None}


def _pod_set(pod: Object, jobs: Sequence[str], pod_sets_of: Iterable[PodSetOf]) -> str | None:
    """Returns the pod set of a pod of one of these jobs; None if it belongs to none of them."""
    labels = pod.metadata.labels
    for name in jobs:
        for pod_set_of in pod_sets_of:
            pod_set = pod_set_of(labels, name)
            if pod_set is not None:
                return pod_set
    return SUBMITTER if labels.get(JOB_NAME_LABEL, "") in jobs else None


def _controller(obj: Object) -> str:
    return obj.metadata.controller.uid if obj.metadata.controller is not None else ""
