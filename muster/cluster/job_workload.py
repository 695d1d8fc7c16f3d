"""The Workload of a job, as Kueue would create it (pkg/controller/jobframework)."""

import hashlib
from typing import Any

from muster.admission import QuantityError
from muster.cluster import ownership
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import Job, priority_class, queue_name
from muster.cluster.jobs.scaling import annotation
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import Create, MergePatch, Write
from muster.objects import kueue
from muster.objects.derived import Derived
from muster.objects.kueue import Workload
from muster.objects.meta import ObjectMeta, builtins
from muster.objects.names import (
    JOB_UID_LABEL,
    KUEUE_GROUP,
    MAX_EXEC_TIME_LABEL,
    PROVREQ_ANNOTATION_PREFIX,
    RESOURCE_IN_USE,
    SIZES_ANNOTATION,
)
from muster.objects.pods import pod_requests, read_template

NAME_LENGTH_MAX = 253  # as in Kueue, whose gate ShortWorkloadNames (63) is off by default
HASH_LENGTH = 5


def workload_name(kind: str, api_version: str, name: str, uid: str) -> str:
    """Returns `rayjob-<name>-<5 hex>`; the hash distinguishes successive jobs with the same name.

    Source: pkg/controller/jobframework/workload_names.go, which may cut a name behind a dot: the API server
    refuses such a name, as each part between dots ends with a letter or digit (RFC 1123).
    """
    group = api_version.rpartition("/")[0]
    digest = hashlib.sha1("\n".join((kind, group, name, uid)).encode(), usedforsecurity=False).hexdigest()
    prefix = f"{kind.lower()}-{name}"[: NAME_LENGTH_MAX - 1 - HASH_LENGTH].rstrip(".")
    return f"{prefix}-{digest[:HASH_LENGTH]}"


def priority_of(job: Job, cluster: ClusterState) -> tuple[int, kueue.PriorityClassRef | None]:
    """Returns the job's priority and its class: the WorkloadPriorityClass of the job's label, else the
    WorkloadPriorityClass named `default`, else the first PriorityClass of its pods, else the cluster's
    default PriorityClass."""
    name = priority_class(job) or _default_class(cluster)
    if name:
        workload_class = cluster.priorities.get(name)
        ref = kueue.PriorityClassRef(group=KUEUE_GROUP, kind="WorkloadPriorityClass", name=name)
        return (workload_class.value if workload_class else 0), ref
    for pod_class in job.pod_priority_classes:
        if pod_class in cluster.pod_priorities:
            ref = kueue.PriorityClassRef(group="scheduling.k8s.io", kind="PriorityClass", name=pod_class)
            return cluster.pod_priorities[pod_class].value, ref
    return max((c.value for c in cluster.pod_priorities.values() if c.global_default), default=0), None


def _default_class(cluster: ClusterState) -> str:
    return kueue.DEFAULT_PRIORITY_CLASS if kueue.DEFAULT_PRIORITY_CLASS in cluster.priorities else ""


def priority_now(workload: kueue.Workload, cluster: ClusterState) -> int:
    """Returns the priority from the current value of the WorkloadPriorityClass, not from the persisted spec:
    otherwise, after a change of the class, pending workloads with the new value would compete with running
    workloads with the old value.

    The class is taken from the Workload, or is the class named `default` if the Workload has a job without
    the label. Changes to the label of a job with quota are ignored.

    Source: Kueue pkg/controller/core/workloadpriorityclass_controller.go."""
    ref, job = workload.spec.priority_class_ref, cluster.job_of(workload)
    if ref is not None and (ref.group, ref.kind) == (KUEUE_GROUP, "WorkloadPriorityClass"):
        name = ref.name
    else:
        name = _default_class(cluster) if job is not None and not priority_class(job) else ""
    priority_class_now = cluster.priorities.get(name)
    return priority_class_now.value if priority_class_now is not None else workload.spec.priority or 0


def make_workload(job: Job, cluster: ClusterState) -> Create:
    """Returns the creation of a job's Workload."""
    meta = job.metadata
    body: dict[str, Any] = {
        "metadata": {
            "name": workload_name(job.kind.name, job.kind.api_version, meta.name, meta.uid),
            "namespace": meta.namespace,
            "labels": {JOB_UID_LABEL: meta.uid},
            "annotations": _annotations(job),
            "finalizers": [RESOURCE_IN_USE],
            "ownerReferences": [
                {
                    "apiVersion": job.kind.api_version,
                    "kind": job.kind.name,
                    "name": meta.name,
                    "uid": meta.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"active": True, **desired_spec(job, cluster)},
    }
    return Create(WORKLOADS, body)


def _annotations(job: Job) -> dict[str, str]:
    """Returns the annotations that follow from the job."""
    return _parameters(job.metadata) | ({SIZES_ANNOTATION: annotation(job.sizes)} if job.sizes else {})


def _parameters(meta: ObjectMeta) -> dict[str, str]:
    """Returns the annotations with parameters for ProvisioningRequests."""
    return {k: v for k, v in meta.annotations.items() if k.startswith(PROVREQ_ANNOTATION_PREFIX)}


def desired_spec(job: Job, cluster: ClusterState) -> dict[str, Any]:
    """Returns the fields of the Workload's spec that follow from its job."""
    spec: dict[str, Any] = builtins({**_scalars(job, cluster), "podSets": job.pod_sets})
    return spec


def _scalars(job: Job, cluster: ClusterState) -> dict[str, Any]:
    priority, ref = priority_of(job, cluster)
    return {
        "queueName": queue_name(job),
        "priority": priority,
        "priorityClassRef": ref,
        "maximumExecutionTimeSeconds": max_run_s(job),
    }


def max_run_s(job: Job) -> int | None:
    """Returns the job's label in seconds; None unless it is a positive 32-bit number, as in Kueue."""
    text = job.metadata.labels.get(MAX_EXEC_TIME_LABEL, "")
    seconds = int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else 0
    return seconds if 0 < seconds < 2**31 else None


def update_workload(workload: kueue.Workload, job: Job, cluster: ClusterState) -> Write | None:
    """Updates the Workload of a job without quota with the changes of its user."""
    spec = workload.spec
    now = {
        "queueName": spec.queue_name,
        "priority": spec.priority,
        "priorityClassRef": spec.priority_class_ref,
        "maximumExecutionTimeSeconds": spec.maximum_execution_time_seconds,
    }
    changed = {key: value for key, value in _scalars(job, cluster).items() if value != now[key]}
    if list(map(_shape, spec.pod_sets)) != list(map(_shape, job.pod_sets)):
        changed["podSets"] = job.pod_sets
    body: dict[str, Any] = {"spec": builtins(changed)} if changed else {}
    current, desired = _parameters(workload.metadata), _parameters(job.metadata)
    if not job.placed:  # after a start, the job has Muster's limits
        sizes = workload.metadata.annotations.get(SIZES_ANNOTATION)
        current |= {SIZES_ANNOTATION: sizes} if sizes is not None else {}
        desired |= {SIZES_ANNOTATION: annotation(job.sizes)} if job.sizes else {}
    if current != desired:
        body["metadata"] = {"annotations": {**dict.fromkeys(current), **desired}}
    if not body:
        return None
    return MergePatch(WORKLOADS, workload.key, body, workload.metadata.resource_version)


def update_priority(workload: kueue.Workload, cluster: ClusterState) -> Write | None:
    """Returns a patch for the priority of a Workload with quota if the value of its class has changed."""
    priority = priority_now(workload, cluster)
    if priority == (workload.spec.priority or 0):
        return None
    body = {"spec": {"priority": priority}}
    return MergePatch(WORKLOADS, workload.key, body, workload.metadata.resource_version)


@Derived
def _shape(pod_set: kueue.PodSet) -> tuple[str, int, object, str, object]:
    template = read_template(pod_set.template)
    return (
        pod_set.name,
        pod_set.count,
        _requests(pod_set),
        template.spec.runtime_class_name,
        pod_set.topology_request,
    )


def _requests(pod_set: kueue.PodSet) -> object:
    try:
        return pod_requests(pod_set.template)
    except QuantityError as error:
        return str(error)


def is_being_deleted(job: Job) -> bool:
    """Returns whether the job is being deleted, so that the operator no longer reconciles it and can't
    suspend it."""
    return bool(job.metadata.deletion_timestamp)


def has_left_queue(workload: Workload, job: Job | None) -> bool:
    """Returns whether the Workload's job may no longer have quota: it was deleted, is being deleted or
    is no longer in a queue. False for a Workload that was created without a job."""
    if job is None:
        return ownership.job_of(workload) is not None
    return is_being_deleted(job) or not job.managed
