"""Which objects belong to which job: by controller reference, kind and namespace, and by KubeRay's label.

A label or a UID alone proves nothing, as users write both. An owner lives in the namespace of what it owns.
"""

from typing import Any, NamedTuple

from muster.controller.templates import WORKLOAD_UID_LABEL
from muster.kube.kinds import BATCH_JOBS, RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, Kind
from muster.objects.core import Pod
from muster.objects.kueue import Workload
from muster.objects.meta import Object, ObjectMeta, OwnerReference
from muster.objects.ray import ORIGIN_LABEL, RayCluster

JOB_KINDS = (RAY_JOBS, RAY_CLUSTERS, RAY_SERVICES)


class Owner(NamedTuple):
    """An object that others may name as their controller."""

    namespace: str
    kind: str
    uid: str


def identity(kind: Kind[Any], metadata: ObjectMeta) -> Owner:
    return Owner(metadata.namespace, kind.name, metadata.uid)


def owner_of(obj: Object, *kinds: Kind[Any]) -> Owner | None:
    """Its controller, where that is of one of these kinds."""
    reference = obj.metadata.controller
    if reference is None or not any(_is_a(reference, kind) for kind in kinds):
        return None
    return Owner(obj.metadata.namespace, reference.kind, reference.uid)


def job_of(workload: Workload) -> Owner | None:
    """The job that the Workload is for, whether it is still there or not."""
    return owner_of(workload, *JOB_KINDS)


def made_for(cluster: RayCluster) -> Owner | None:
    """The RayJob or RayService that KubeRay made the RayCluster for.

    A controller reference is not enough: users may give one to a RayCluster outside of all queues, and start
    that again however often it is suspended. KubeRay's label, which an admission policy keeps them from
    setting, has to say so too (constructRayClusterForRayJob, constructRayClusterForRayService)."""
    owner = owner_of(cluster, RAY_JOBS, RAY_SERVICES)
    if owner is None or cluster.metadata.labels.get(ORIGIN_LABEL) != owner.kind:
        return None
    return owner


def is_pod_of(pod: Pod, workload: Workload) -> bool:
    """Whether KubeRay made the pod for the Workload: it bears the Workload's UID in the same namespace, and a
    RayCluster or the RayJob's submitter controls it.

    Which RayCluster is not asked: users may edit a RayCluster's owner references, and pods that are not
    counted any more would run on quota that is handed on."""
    meta, job, maker = pod.metadata, job_of(workload), pod.metadata.controller
    label = meta.labels.get(WORKLOAD_UID_LABEL)
    if (meta.namespace, label) != (workload.metadata.namespace, workload.metadata.uid):
        return False
    if job is None or maker is None:
        return False
    if _is_a(maker, BATCH_JOBS):  # KubeRay names it after its RayJob (createNewK8sJob)
        controller = workload.metadata.controller
        return job.kind == RAY_JOBS.name and controller is not None and maker.name == controller.name
    return _is_a(maker, RAY_CLUSTERS)


def _is_a(reference: OwnerReference, kind: Kind[Any]) -> bool:
    return (reference.group, reference.kind) == (kind.api_version.rpartition("/")[0], kind.name)
