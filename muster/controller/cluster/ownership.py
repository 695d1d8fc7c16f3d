"""Which objects belong to which job: by controller reference, kind and namespace, and by KubeRay's label.

Neither a label nor a UID alone proves it, as users can write both. An owner is in its dependents' namespace.
"""

from typing import Any, NamedTuple

from muster.controller.jobs.templates import WORKLOAD_UID_LABEL
from muster.kube.kinds import BATCH_JOBS, RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, Kind
from muster.objects.core import Pod
from muster.objects.kueue import JOB_UID_LABEL, Workload
from muster.objects.meta import Object, ObjectMeta, OwnerReference
from muster.objects.ray import NODE_TYPE_LABEL, ORIGIN_LABEL, REDIS_CLEANUP_TYPE, RayCluster

JOB_KINDS = (RAY_JOBS, RAY_CLUSTERS, RAY_SERVICES)


class Owner(NamedTuple):
    """An object that others may name as their controller."""

    namespace: str
    kind: str
    uid: str


def identity(kind: Kind[Any], metadata: ObjectMeta) -> Owner:
    return Owner(metadata.namespace, kind.name, metadata.uid)


def owner_of(obj: Object, *kinds: Kind[Any]) -> Owner | None:
    """Returns its controller if that is of one of these kinds."""
    reference = obj.metadata.controller
    if reference is not None:
        for kind in kinds:
            if _is_a(reference, kind):
                return Owner(obj.metadata.namespace, reference.kind, reference.uid)
    return None


def job_of(workload: Workload) -> Owner | None:
    """Returns the job that the Workload is for, whether it still exists or not; None if it was created
    without a job of these kinds: its creator starts and stops its pods, unsets its reservation after an
    eviction, and finishes it.

    Kueue's label and the name tell the job of one that lost its reference to it (Kueue: isOrphanedWorkload in
    pkg/controller/core/workload_controller.go)."""
    meta = workload.metadata
    if meta.controller is not None or JOB_UID_LABEL not in meta.labels:
        return owner_of(workload, *JOB_KINDS)
    kinds = (kind.name for kind in JOB_KINDS if meta.name.startswith(f"{kind.name.lower()}-"))
    return next((Owner(meta.namespace, kind, meta.labels[JOB_UID_LABEL]) for kind in kinds), None)


def creator_of(cluster: RayCluster) -> Owner | None:
    """Returns the RayJob or RayService that KubeRay created the RayCluster for.

    A controller reference is not enough: users may add one to a RayCluster outside of all queues, and resume
    it whenever it is suspended. It also needs KubeRay's label, which an admission policy keeps users from
    setting (constructRayClusterForRayJob, constructRayClusterForRayService)."""
    owner = owner_of(cluster, RAY_JOBS, RAY_SERVICES)
    if owner is None or cluster.metadata.labels.get(ORIGIN_LABEL) != owner.kind:
        return None
    return owner


def is_pod_of(pod: Pod, workload: Workload) -> bool:
    """Whether KubeRay created the pod for the Workload: it carries the Workload's UID in the same namespace,
    and a RayCluster, the RayJob's submitter or a Redis clean-up Job controls it.

    Any RayCluster counts: users may edit the owner references of a RayCluster, and pods that no longer
    counted would run on quota that is reserved for others. Likewise any submitter of a Workload that has lost
    the reference to its RayJob."""
    meta, job, creator = pod.metadata, job_of(workload), pod.metadata.controller
    label = meta.labels.get(WORKLOAD_UID_LABEL)
    if (meta.namespace, label) != (workload.metadata.namespace, workload.metadata.uid):
        return False
    if creator is None:
        return False
    if _is_a(creator, BATCH_JOBS):  # KubeRay names it after its RayJob (createNewK8sJob)
        controller = workload.metadata.controller
        if job is None or controller is None or meta.labels.get(NODE_TYPE_LABEL) == REDIS_CLEANUP_TYPE:
            return True
        return job.kind == RAY_JOBS.name and creator.name == controller.name
    return _is_a(creator, RAY_CLUSTERS)


def _is_a(reference: OwnerReference, kind: Kind[Any]) -> bool:
    return reference.kind == kind.name and reference.group == kind.group
