"""A job that is not submitted yet, with the Workload that the controller would create."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.cluster.job_workload import make_workload
from muster.cluster.jobs.job import Job, Operator, priority_class, queue_name
from muster.cluster.jobs.kinds import BY_KIND, kind_of, listed
from muster.cluster.ownership import identity
from muster.kube.kinds import WORKLOADS, Kind
from muster.live.observed import ObservationError, viewed
from muster.objects.kueue import Workload
from muster.objects.meta import rfc3339
from muster.objects.names import PRIORITY_LABEL, QUEUE_LABEL

UID = "not-submitted"


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job, its Workload, and the cluster with both."""

    cluster: ClusterState
    job: Job
    workload: Workload


def submitted(
    manifest: Mapping[str, Any], cluster: ClusterState, now_ms: int, namespace: str = "default"
) -> Submitted:
    """Adds a job and its Workload to a cluster; `namespace` is the default for a manifest without one.

    Raises: ObservationError if the manifest is not a queued job."""
    kind = _kind(manifest)
    obj = viewed(kind, _named(manifest), namespace, rfc3339(now_ms))
    with_job = cluster.with_objects(kind, {**cluster.objects(kind), obj.key: obj})
    job = with_job.job(identity(kind, obj.metadata))
    where = f"{kind} {obj.key}"
    if job is None or not job.managed:
        raise ObservationError(f"{where}: {_why_not_managed(manifest, BY_KIND[kind].operator)}")
    _check_names(where, job, cluster)
    body = make_workload(job, with_job).body
    meta = {**body["metadata"], "uid": UID, "creationTimestamp": rfc3339(now_ms)}
    workload = viewed(WORKLOADS, {**body, "metadata": meta})
    workloads = {**cluster.workloads, workload.key: workload}
    return Submitted(with_job.with_objects(WORKLOADS, workloads), job, workload)


def _kind(manifest: Mapping[str, Any]) -> Kind[Any]:
    kind = kind_of(manifest)
    if kind is None:
        name = f"{manifest.get('apiVersion', '')} {manifest.get('kind', '')}".strip()
        expected = listed(sorted(BY_KIND, key=str))
        raise ObservationError(f"{name or 'an object without kind'}: expected one of {expected}")
    return kind


def _named(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the manifest with a name and a UID, as the API server would."""
    meta = dict(manifest.get("metadata") or {})
    name = meta.get("name") or (f"{meta['generateName']}try" if meta.get("generateName") else "")
    return {**manifest, "metadata": {**meta, "name": name, "uid": UID}}


def _why_not_managed(manifest: Mapping[str, Any], operator: Operator) -> str:
    meta = manifest.get("metadata") or {}
    if not (meta.get("labels") or {}).get(QUEUE_LABEL):
        return f"it has no label {QUEUE_LABEL}, so it is not queued and starts immediately, without admission"
    if meta.get("ownerReferences"):
        return "it has an owner, which is admitted instead"
    return f"its spec.managedBy is not {operator.managed_by}, so it is not admitted here"


def _check_names(where: str, job: Job, cluster: ClusterState) -> None:
    """Raises: ObservationError for a queue or class that does not exist."""
    namespace, queue, name = job.metadata.namespace, queue_name(job), priority_class(job)
    if f"{namespace}/{queue}" not in cluster.local_queues:
        queues = (q.metadata.name for q in cluster.local_queues.values() if q.metadata.namespace == namespace)
        raise ObservationError(
            f"{where}: namespace {namespace} has no LocalQueue {queue!r} (label {QUEUE_LABEL}); expected one "
            f"of: {', '.join(sorted(queues)) or 'none'}"
        )
    if name and name not in cluster.priorities:
        raise ObservationError(
            f"{where}: WorkloadPriorityClass {name!r} (label {PRIORITY_LABEL}) does not exist; expected one "
            f"of: {', '.join(sorted(cluster.priorities)) or 'none'}"
        )
