"""Determines the owners of objects, by controller reference, kind and namespace, and by KubeRay's label.

Neither a label nor a UID alone is sufficient, as users can write both. An owner is in the namespace of its
dependents. Pods are an exception: pods in a Workload's namespace with its UID as a label belong to the gang,
regardless of their owners. Admission policies prevent users from writing this label, so such a pod was
created for the gang, and runs on its nodes even if it has lost its owner or its other labels.
"""

from typing import Any, NamedTuple

from muster.cluster.jobs.job import Job
from muster.cluster.jobs.kinds import BY_KIND
from muster.kube.kinds import Kind
from muster.objects.kueue import Workload
from muster.objects.meta import Object, ObjectMeta, OwnerReference
from muster.objects.names import JOB_UID_LABEL

JOB_KINDS = tuple(BY_KIND)


class Owner(NamedTuple):
    """The identity of an object that may be the controller of others."""

    namespace: str
    kind: str
    uid: str


def identity(kind: Kind[Any], metadata: ObjectMeta) -> Owner:
    """Returns an object as the owner that its dependents refer to."""
    return Owner(metadata.namespace, kind.name, metadata.uid)


def owner_of(obj: Object, *kinds: Kind[Any]) -> Owner | None:
    """Returns the object's controller if it is of one of these kinds."""
    reference = obj.metadata.controller
    if reference is not None:
        for kind in kinds:
            if _is_a(reference, kind):
                return Owner(obj.metadata.namespace, reference.kind, reference.uid)
    return None


def job_of(workload: Workload) -> Owner | None:
    """Returns the job of the Workload, even if the job no longer exists; None if the Workload was created
    without a job of these kinds. In that case its creator starts and stops the pods, unsets the reservation
    after an eviction, and finishes the Workload.

    The job of a Workload that has lost its owner reference is identified by Kueue's label and the name
    (Kueue: isOrphanedWorkload in pkg/controller/core/workload_controller.go)."""
    meta = workload.metadata
    if meta.controller is not None or JOB_UID_LABEL not in meta.labels:
        return owner_of(workload, *JOB_KINDS)
    kinds = (kind.name for kind in JOB_KINDS if meta.name.startswith(f"{kind.name.lower()}-"))
    return next((Owner(meta.namespace, kind, meta.labels[JOB_UID_LABEL]) for kind in kinds), None)


def creator_of(dependent: Job) -> Owner | None:
    """Returns the job for which its operator created this one, such as the RayJob of a RayCluster.

    A controller reference is not sufficient: users may add one to a RayCluster outside the queues, and resume
    it whenever it is suspended. The operator's label is also required, which an admission policy prevents
    users from setting (KubeRay: constructRayClusterForRayJob, constructRayClusterForRayService; JobSet:
    labelAndAnnotateObject)."""
    job_kind = BY_KIND[dependent.kind]
    owner = owner_of(dependent.obj, *job_kind.created_by)
    if owner is None or dependent.metadata.labels.get(job_kind.origin_label) not in (owner.kind, owner.uid):
        return None
    return owner


def _is_a(reference: OwnerReference, kind: Kind[Any]) -> bool:
    return reference.kind == kind.name and reference.group == kind.group
