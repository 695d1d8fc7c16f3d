"""Whether a Workload may be queued; if not, one sentence with the cause and what to do."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from muster import admission as core
from muster.admission.lifecycle import DEACTIVATED
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.jobs.annotations import RETRY, STOP
from muster.controller.jobs.job import Job, StatusReason, priority_class
from muster.controller.passes.claims import claims_problem
from muster.controller.passes.queue_status import STOPPED, queue_problem
from muster.controller.workload import retries
from muster.controller.workload.events import ObjectEvent, on_job
from muster.objects import kueue
from muster.objects.cache import ByteCache
from muster.objects.core import RuntimeClass
from muster.objects.derived import Derived
from muster.objects.limits import LimitRange, adjusted, uncountable
from muster.objects.meta import find_condition
from muster.objects.pods import Template, has_pod_level, read_template
from muster.translation import core_pod_set

# Kueue's reasons for QuotaReserved=False (apis/kueue/v1beta2/workload_types.go)
MISCONFIGURED = "Misconfigured"
SUSPENDED = "Suspended"
QUEUES_NAMED_MAX = 20
PARAMETERS_MAX, PARAMETER_LENGTH_MAX = 50, 255  # a ProvisioningRequest takes 100, with its config's


def ineligibility(workload: kueue.Workload, job: Job | None, cluster: ClusterState) -> StatusReason | None:
    """Returns why the Workload may not be queued; None if it may. `job`: None if it was created without
    one."""
    if not workload.spec.active:
        why = _why_deactivated(workload)
        return StatusReason(SUSPENDED, f"the Workload is deactivated{why}: {_reactivation(workload, job)}")
    if job is not None and job.stop_requested:
        why = f"the job is stopped by its annotation {STOP}: remove the annotation to queue the job again"
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


def empty_queue_labels(cluster: ClusterState) -> Iterator[ObjectEvent]:
    """Yields an event for each job with an empty queue label: it stays suspended without any other
    message."""
    for job in cluster.jobs_with_empty_queue_label:
        namespace = job.metadata.namespace
        choice = _queues_in(namespace, cluster)
        message = (
            f"label {kueue.QUEUE_LABEL} is empty, so the job is in no queue and nothing admits it: set it to "
            f"a LocalQueue of namespace {namespace} (choose one of {choice}), or remove it to run outside "
            "the queues"
        )
        yield on_job(job, MISCONFIGURED, message, warning=True)


def _reactivation(workload: kueue.Workload, job: Job | None) -> str:
    """Returns how it is activated again, by what its reader may do."""
    if job is None:
        return "set spec.active of the Workload to true"
    if not retries.is_curable(workload):
        return "delete the job and create it again, or ask an administrator to activate it"
    later = retries.granted(workload).next
    when = f" (granted from {later} on)" if later else ""
    return f"set the job's annotation {RETRY} to a new value{when}, or delete the job and create it again"


def _why_deactivated(workload: kueue.Workload) -> str:
    """Returns the message of the eviction, in parentheses, unless a user deactivated it."""
    evicted = find_condition(workload.status.conditions, "Evicted")
    if evicted is None or not evicted.reason.startswith(f"{DEACTIVATED}DueTo"):
        return ""
    return f" ({evicted.message})"


def _refusal(workload: kueue.Workload, job: Job, cluster: ClusterState) -> str | None:
    return cluster.pod_refusal(workload, job) or _unknown_priority(job, cluster)


def _unknown_priority(job: Job, cluster: ClusterState) -> str | None:
    name = priority_class(job)
    if not name or name in cluster.priorities:
        return None
    known = ", ".join(sorted(cluster.priorities)) or "none"
    return f"WorkloadPriorityClass {name!r} does not exist: choose one of {known}"


def _own_problem(workload: kueue.Workload, job: Job | None, cluster: ClusterState) -> str | None:
    of_job = cluster.cache.get(_job_problem, workload.metadata.uid, job) if job is not None else None
    meta = workload.metadata if job is None else job.metadata
    return of_job or _pod_set_problems(workload.spec) or _parameters_problem(meta.annotations)


def _job_problem(job: Job) -> str | None:
    return job.ineligibility


def _parameters_problem(annotations: Mapping[str, str]) -> str | None:
    """Returns the first annotation that the schema of a ProvisioningRequest does not accept as a parameter:
    creating it would fail."""
    prefix = kueue.PROVREQ_ANNOTATION_PREFIX
    asked = {key: value for key, value in annotations.items() if key.startswith(prefix)}
    if len(asked) > PARAMETERS_MAX:
        return f"{len(asked)} annotations {prefix}… are too many; expected at most {PARAMETERS_MAX}"
    for key, value in asked.items():
        if len(value) > PARAMETER_LENGTH_MAX:
            return (
                f"the value of annotation {key} has {len(value)} characters; expected at most "
                f"{PARAMETER_LENGTH_MAX}, as it is a parameter of the ProvisioningRequest"
            )
    return None


@Derived
def _pod_set_problems(spec: kueue.WorkloadSpec) -> str | None:
    """Returns the first fault for which Kubernetes refuses pods: Ray's own schema accepts almost anything."""
    for pod_set in spec.pod_sets:
        problem = pod_set_problem(pod_set)
        if problem is not None:
            return f"pod set {pod_set.name!r}: {problem}"
    return None


def _pods_problem(workload: kueue.Workload, cluster: ClusterState) -> str | None:
    """Returns a fault that depends on the namespace or the cluster: requests, LimitRanges, RuntimeClasses."""
    named = _runtime_classes(workload.spec)
    for pod_set, name in named:
        if name not in cluster.runtime_classes:
            return (
                f"pod set {pod_set!r}: RuntimeClass {name!r} does not exist, so no pod can be created: "
                "remove runtimeClassName, or name one that exists"
            )
    ranges = cluster.limit_ranges_of(workload)
    added: tuple[LimitRange | RuntimeClass, ...] = (
        *ranges,
        *(cluster.runtime_classes[name] for _, name in named),
    )
    problem = cluster.cache.get(uncountable, " ".join(obj.key for obj in added), *added)
    if problem is None and _lacks_requests(workload.spec):
        return cluster.cache.get(_requests_problem, workload.metadata.uid, workload.spec, *ranges)
    return problem


@Derived
def _runtime_classes(spec: kueue.WorkloadSpec) -> tuple[tuple[str, str], ...]:
    """Returns pairs of a pod set and the RuntimeClass that it names."""
    named = ((ps.name, read_template(ps.template).spec.runtime_class_name) for ps in spec.pod_sets)
    return tuple((pod_set, name) for pod_set, name in named if name)


@Derived
def _lacks_requests(spec: kueue.WorkloadSpec) -> bool:
    return any(_container_without_requests(pod_set.template) is not None for pod_set in spec.pod_sets)


def _requests_problem(spec: kueue.WorkloadSpec, *ranges: LimitRange) -> str | None:
    for pod_set in spec.pod_sets:
        name = _container_without_requests(adjusted(pod_set.template, ranges))
        if name is not None:
            return (
                f"container {name!r} of pod set {pod_set.name!r} asks for no resources: set "
                "resources.requests, so that admission can tell whether it fits"
            )
    return None


def _container_without_requests(template: Template) -> str | None:
    """Returns the name of the first container without requests and limits, unless its pod has them."""
    spec = read_template(template).spec
    if any(map(has_pod_level, (*spec.resources.requests, *spec.resources.limits))):
        return None
    for container in spec.containers:
        if not (container.resources.requests or container.resources.limits):
            return container.name
    return None


def pod_set_problem(pod_set: kueue.PodSet) -> str | None:
    """Returns what is wrong with its pods, cached for all pod sets with the same shape."""
    return _SHAPE_PROBLEMS(msgspec.json.encode(replace(pod_set, name="pods")))


def _shape_problem(shape: bytes) -> str | None:
    pods = msgspec.json.decode(shape, type=kueue.PodSet)
    try:
        core.check_workload(core.Workload("of these pods", "", "", 0, 0, (core_pod_set.pod_set(pods),)))
    except ValueError as error:  # QuantityError and SnapshotError too
        return str(error)
    return None


_SHAPE_PROBLEMS = ByteCache(_shape_problem)


def _queue_problem(workload: kueue.Workload, cluster: ClusterState) -> str | None:
    namespace, name = workload.metadata.namespace, workload.spec.queue_name
    local = cluster.local_queue_of(workload)
    if local is None:
        known = _queues_in(namespace, cluster)
        return f"namespace {namespace} has no LocalQueue {name!r}: choose one of {known}"
    queue = cluster.cluster_queues.get(local.spec.cluster_queue)
    if queue is None:
        target = local.spec.cluster_queue
        return f"LocalQueue {local.key} points to ClusterQueue {target!r}, which does not exist"
    problem = queue_problem(queue, cluster)
    if problem is not None and problem.reason != STOPPED:  # the core reports a stopped queue
        return f"ClusterQueue {queue.key} can admit nothing now: {problem.message}"
    return None


def _queues_in(namespace: str, cluster: ClusterState) -> str:
    """Returns the first of its queues by name: a namespace may have thousands, and many jobs name none."""
    names = cluster.local_queue_names.get(namespace, ())
    more = len(names) - QUEUES_NAMED_MAX
    return (", ".join(names[:QUEUES_NAMED_MAX]) or "none") + (f" and {more} more" if more > 0 else "")
