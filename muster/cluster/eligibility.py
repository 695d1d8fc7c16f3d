"""Determines whether a Workload may be queued; if not, returns a sentence with the cause and what to do."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from muster import admission as core
from muster.admission.lifecycle import DEACTIVATED
from muster.cluster import retries
from muster.cluster.claims import claims_problem, gpus_problem
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import Job, StatusReason, priority_class
from muster.cluster.queue_problems import STOPPED, queue_problem
from muster.objects import kueue
from muster.objects.cache import ByteCache
from muster.objects.core import RuntimeClass
from muster.objects.derived import Derived
from muster.objects.limits import LimitRange, adjusted, uncountable
from muster.objects.meta import find_condition
from muster.objects.names import PROVREQ_ANNOTATION_PREFIX, RETRY_ANNOTATION, STOP_ANNOTATION
from muster.objects.pods import Template, has_pod_level, read_template
from muster.translation import core_pod_set

# Kueue's reasons for QuotaReserved=False (apis/kueue/v1beta2/workload_types.go)
MISCONFIGURED = "Misconfigured"
SUSPENDED = "Suspended"
QUEUES_NAMED_MAX = 20
# A ProvisioningRequest has at most 100 parameters, including its config's.
PARAMETERS_MAX, PARAMETER_LENGTH_MAX = 50, 255


def ineligibility(workload: kueue.Workload, job: Job | None, cluster: ClusterState) -> StatusReason | None:
    """Returns why the Workload may not be queued; None if it may. `job` is None if it was created without a
    job."""
    if not workload.spec.active:
        why = _why_deactivated(workload)
        return StatusReason(SUSPENDED, f"the Workload is deactivated{why}: {_reactivation(workload, job)}")
    if job is not None and job.stop_requested:
        why = (
            f"the job is stopped by its annotation {STOP_ANNOTATION}: remove the annotation to queue the job "
            "again"
        )
        return StatusReason(SUSPENDED, why)
    message = (
        _own_problem(workload, job, cluster)
        or claims_problem(workload, cluster)
        or _pods_problem(workload, cluster)
        or (_refusal(workload, job, cluster) if job is not None else None)
        or _queue_problem(workload, cluster)
    )
    if message:
        return StatusReason(MISCONFIGURED, message)
    local = cluster.local_queue_of(workload)
    if local is not None and local.spec.stop_policy != "None":
        return StatusReason(
            SUSPENDED, f"LocalQueue {local.key} is stopped (stopPolicy {local.spec.stop_policy})"
        )
    return None


def _reactivation(workload: kueue.Workload, job: Job | None) -> str:
    """Returns how the reader of the message can reactivate the Workload."""
    if job is None:
        return "set spec.active of the Workload to true"
    if not retries.is_curable(workload):
        return "recreate the job, or ask an administrator to activate the Workload"
    due_at = retries.granted(workload).next
    when = f" (granted after {due_at})" if due_at else ""
    return f"set the job's annotation {RETRY_ANNOTATION} to a new value{when}, or recreate the job"


def _why_deactivated(workload: kueue.Workload) -> str:
    """Returns the message of the eviction in parentheses; empty if a user deactivated the Workload."""
    evicted = find_condition(workload.status.conditions, "Evicted")
    if evicted is None or not evicted.reason.startswith(f"{DEACTIVATED}DueTo"):
        return ""
    return f" ({evicted.message})"


def _refusal(workload: kueue.Workload, job: Job, cluster: ClusterState) -> str | None:
    return (
        cluster.pod_refusal(workload, job)
        or gpus_problem(workload, job, cluster)
        or _unknown_priority(job, cluster)
    )


def _unknown_priority(job: Job, cluster: ClusterState) -> str | None:
    name = priority_class(job)
    if not name or name in cluster.priorities:
        return None
    choice = ", ".join(sorted(cluster.priorities)) or "none"
    return f"WorkloadPriorityClass {name!r} does not exist: choose one of {choice}"


def _own_problem(workload: kueue.Workload, job: Job | None, cluster: ClusterState) -> str | None:
    job_problem = cluster.cache.get(_job_problem, workload.metadata.uid, job) if job is not None else None
    meta = workload.metadata if job is None else job.metadata
    return job_problem or _pod_set_problems(workload.spec) or _parameters_problem(meta.annotations)


def _job_problem(job: Job) -> str | None:
    return job.ineligibility


def _parameters_problem(annotations: Mapping[str, str]) -> str | None:
    """Returns a sentence about the first annotation that is not a valid parameter of a ProvisioningRequest,
    whose creation would fail."""
    prefix = PROVREQ_ANNOTATION_PREFIX
    parameters = {key: value for key, value in annotations.items() if key.startswith(prefix)}
    if len(parameters) > PARAMETERS_MAX:
        return f"{len(parameters)} annotations {prefix}… are too many; expected at most {PARAMETERS_MAX}"
    for key, value in parameters.items():
        if len(value) > PARAMETER_LENGTH_MAX:
            return (
                f"the value of annotation {key} has {len(value)} characters; expected at most "
                f"{PARAMETER_LENGTH_MAX}, as it is a parameter of the ProvisioningRequest"
            )
    return None


@Derived
def _pod_set_problems(spec: kueue.WorkloadSpec) -> str | None:
    """Returns the first fault for which Kubernetes refuses the pods, as Ray's own schema accepts almost
    anything."""
    for pod_set in spec.pod_sets:
        problem = pod_set_problem(pod_set)
        if problem is not None:
            return f"pod set {pod_set.name!r}: {problem}"
    return None


def _pods_problem(workload: kueue.Workload, cluster: ClusterState) -> str | None:
    """Returns the first fault that depends on the namespace or the cluster: requests, LimitRanges,
    RuntimeClasses."""
    pod_set_classes = _runtime_classes(workload.spec)
    for pod_set, name in pod_set_classes:
        if name not in cluster.runtime_classes:
            return (
                f"pod set {pod_set!r}: RuntimeClass {name!r} does not exist, so no pod can be created: "
                "remove runtimeClassName, or set it to an existing RuntimeClass"
            )
    ranges = cluster.limit_ranges_of(workload)
    adjustments: tuple[LimitRange | RuntimeClass, ...] = (
        *ranges,
        *(cluster.runtime_classes[name] for _, name in pod_set_classes),
    )
    problem = cluster.cache.get(uncountable, " ".join(obj.key for obj in adjustments), *adjustments)
    if problem is None and _lacks_requests(workload.spec):
        return cluster.cache.get(_requests_problem, workload.metadata.uid, workload.spec, *ranges)
    return problem


@Derived
def _runtime_classes(spec: kueue.WorkloadSpec) -> tuple[tuple[str, str], ...]:
    """Returns the pairs of pod set and RuntimeClass."""
    pairs = ((ps.name, read_template(ps.template).spec.runtime_class_name) for ps in spec.pod_sets)
    return tuple((pod_set, name) for pod_set, name in pairs if name)


@Derived
def _lacks_requests(spec: kueue.WorkloadSpec) -> bool:
    return any(_container_without_requests(pod_set.template) is not None for pod_set in spec.pod_sets)


def _requests_problem(spec: kueue.WorkloadSpec, *ranges: LimitRange) -> str | None:
    for pod_set in spec.pod_sets:
        name = _container_without_requests(adjusted(pod_set.template, ranges))
        if name is not None:
            return (
                f"container {name!r} of pod set {pod_set.name!r} requests no resources: set "
                "resources.requests, so that admission can determine whether it fits"
            )
    return None


def _container_without_requests(template: Template) -> str | None:
    """Returns the name of the first container without requests and limits; None if there is none or the pod
    itself has them."""
    spec = read_template(template).spec
    if any(map(has_pod_level, (*spec.resources.requests, *spec.resources.limits))):
        return None
    for container in spec.containers:
        if not (container.resources.requests or container.resources.limits):
            return container.name
    return None


def pod_set_problem(pod_set: kueue.PodSet) -> str | None:
    """Returns a sentence about what is wrong with the pod set's pods, cached for all pod sets with the same
    shape."""
    return _SHAPE_PROBLEMS(msgspec.json.encode(replace(pod_set, name="pods")))


def _shape_problem(shape: bytes) -> str | None:
    pods = msgspec.json.decode(shape, type=kueue.PodSet)
    try:
        core.check_workload(core.Workload("of these pods", "", "", 0, 0, (core_pod_set.pod_set(pods),)))
    except ValueError as error:  # includes QuantityError and SnapshotError
        return str(error)
    return None


_SHAPE_PROBLEMS = ByteCache(_shape_problem)


def _queue_problem(workload: kueue.Workload, cluster: ClusterState) -> str | None:
    namespace, name = workload.metadata.namespace, workload.spec.queue_name
    local = cluster.local_queue_of(workload)
    if local is None:
        choice = queues_in(namespace, cluster)
        return f"namespace {namespace} has no LocalQueue {name!r}: choose one of {choice}"
    queue = cluster.cluster_queues.get(local.spec.cluster_queue)
    if queue is None:
        target = local.spec.cluster_queue
        return f"LocalQueue {local.key} points to ClusterQueue {target!r}, which does not exist"
    problem = queue_problem(queue, cluster)
    if problem is not None and problem.reason != STOPPED:  # the core reports a stopped queue
        return f"ClusterQueue {queue.key} can't admit workloads: {problem.message}"
    return None


def queues_in(namespace: str, cluster: ClusterState) -> str:
    """Returns the first LocalQueues of a namespace by name, which may have thousands."""
    names = cluster.local_queue_names.get(namespace, ())
    more = len(names) - QUEUES_NAMED_MAX
    return (", ".join(names[:QUEUES_NAMED_MAX]) or "none") + (f" and {more} more" if more > 0 else "")
