"""May this workload stand in its queue at all? If not, one sentence why, and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from muster import admission as core
from muster.controller.jobs.job import Job, priority_class
from muster.controller.queue_status import STOPPED, inactive
from muster.controller.workloads import WHY_DEACTIVATED
from muster.controller.world import World
from muster.objects import gangs, kueue
from muster.objects.pods import Template

# Kueue's reasons for QuotaReserved=False (apis/kueue/v1beta2/workload_types.go)
MISCONFIGURED = "Misconfigured"
SUSPENDED = "Suspended"


@dataclass(frozen=True, slots=True)
class Refusal:
    reason: str
    message: str


def refusal(workload: kueue.Workload, job: Job, world: World) -> Refusal | None:
    if not workload.spec.active:
        said = workload.metadata.annotations.get(WHY_DEACTIVATED)
        why = f" ({said})" if said else ""
        return Refusal(
            SUSPENDED, f"the Workload is deactivated{why}: set its spec.active to true to try again"
        )
    message = (
        job.refusal
        or _unknown_priority(job, world)
        or _malformed(workload)
        or _queue_problem(workload, world)
    )
    if message:
        return Refusal(MISCONFIGURED, message)
    local = world.local_queue_of(workload)
    if local is not None and local.spec.stop_policy != "None":
        return Refusal(SUSPENDED, f"LocalQueue {local.key} is stopped (stopPolicy {local.spec.stop_policy})")
    return None


def _unknown_priority(job: Job, world: World) -> str | None:
    name = priority_class(job)
    if not name or name in world.priorities:
        return None
    known = ", ".join(sorted(world.priorities)) or "none"
    return f"WorkloadPriorityClass {name!r} does not exist: choose one of {known}"


def _malformed(workload: kueue.Workload) -> str | None:
    """What Kubernetes would refuse of the pods: Ray's own schema lets through almost anything."""
    for pod_set in workload.spec.pod_sets:
        problem = _template_problem(bytes(pod_set.template))
        if problem is not None:
            return f"pod set {pod_set.name!r}: {problem}"
    return None


@lru_cache(maxsize=4096)
def _template_problem(template: bytes) -> str | None:
    try:
        pod_set = gangs.pod_set(kueue.PodSet(name="pods", count=1, template=Template(template)))
        gang = core.Workload("of these pods", "", "", 0, 0, (pod_set,))
        core.check_workload(gang)
    except ValueError as error:  # QuantityError and SnapshotError too
        return str(error)
    return None


def _queue_problem(workload: kueue.Workload, world: World) -> str | None:
    namespace, name = workload.metadata.namespace, workload.spec.queue_name
    local = world.local_queue_of(workload)
    if local is None:
        known = sorted(
            q.metadata.name for q in world.local_queues.values() if q.metadata.namespace == namespace
        )
        return f"namespace {namespace} has no LocalQueue {name!r}: choose one of {', '.join(known) or 'none'}"
    queue = world.cluster_queues.get(local.spec.cluster_queue)
    if queue is None:
        target = local.spec.cluster_queue
        return f"LocalQueue {local.key} points to ClusterQueue {target!r}, which does not exist"
    problem = inactive(queue, world)
    if problem is not None and problem[0] != STOPPED:  # of a stopped queue the core tells
        return f"ClusterQueue {queue.key} can admit nothing now: {problem[1]}"
    found = world.namespaces.get(namespace)
    labels = {"kubernetes.io/metadata.name": namespace, **(found.metadata.labels if found else {})}
    if not selects(queue.spec.namespace_selector, labels):
        return f"ClusterQueue {queue.key} takes nothing from namespace {namespace} (its namespaceSelector)"
    return None


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """A LabelSelector as ClusterQueues have it: none selects nothing, an empty one everything."""
    if selector is None:
        return False
    equal = all(labels.get(k) == v for k, v in (selector.get("matchLabels") or {}).items())
    return equal and all(_holds(e, labels) for e in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False
