"""Which objects belong to which job: by controller reference, kind and namespace, and by KubeRay's label.

Neither a label nor a UID alone proves it, as users can write both. An owner is in its dependents' namespace.
Pods are the exception: those in a Workload's namespace that carry its UID as a label count, however they are
owned. Admission policies keep users from writing this label, so such a pod was created for the gang; one that
has lost its owner or its other labels still runs on the gang's nodes.
"""

from typing import Any, NamedTuple

from muster.kube.kinds import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, Kind
from muster.objects.kueue import JOB_UID_LABEL, Workload
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


def _is_a(reference: OwnerReference, kind: Kind[Any]) -> bool:
    return reference.kind == kind.name and reference.group == kind.group
