"""The Workload of a job, as Kueue would make it (pkg/controller/jobframework)."""

import hashlib
from typing import Any

from muster.admission import QuantityError
from muster.controller.jobs.gang import pod_sets
from muster.controller.jobs.job import Job, priority_class, queue_name
from muster.controller.world import World
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import Create, MergePatch, Write
from muster.objects import kueue
from muster.objects.meta import builtins
from muster.objects.pods import pod_requests, read_template

NAME_LENGTH_MAX = 253  # as in Kueue, whose gate ShortWorkloadNames (63) is off by default
HASH_LENGTH = 5
WHY_DEACTIVATED = "muster.dev/why-deactivated"  # an annotation that goes with our own spec.active=false


def workload_name(kind: str, api_version: str, name: str, uid: str) -> str:
    """`rayjob-<name>-<5 hex>`; the hash keeps apart jobs of one name that follow each other.

    Source: pkg/controller/jobframework/workload_names.go.
    """
    group = api_version.rpartition("/")[0]
    digest = hashlib.sha1("\n".join((kind, group, name, uid)).encode(), usedforsecurity=False).hexdigest()
    prefix = f"{kind.lower()}-{name}"[: NAME_LENGTH_MAX - 1 - HASH_LENGTH]
    return f"{prefix}-{digest[:HASH_LENGTH]}"


def priority_of(job: Job, world: World) -> tuple[int, kueue.PriorityClassRef | None]:
    """The label's WorkloadPriorityClass, else the head pod's PriorityClass, else the cluster's default."""
    name = priority_class(job)
    if name:
        found = world.priorities.get(name)
        ref = kueue.PriorityClassRef(group=kueue.GROUP, kind="WorkloadPriorityClass", name=name)
        return (found.value if found else 0), ref
    for place in job.places:
        pod_class = read_template(place.template).spec.priority_class_name
        if pod_class in world.pod_priorities:
            ref = kueue.PriorityClassRef(group="scheduling.k8s.io", kind="PriorityClass", name=pod_class)
            return world.pod_priorities[pod_class].value, ref
    return max((c.value for c in world.pod_priorities.values() if c.global_default), default=0), None


def make_workload(job: Job, world: World) -> Create:
    meta = job.metadata
    body: dict[str, Any] = {
        "metadata": {
            "name": workload_name(job.kind.name, job.kind.api_version, meta.name, meta.uid),
            "namespace": meta.namespace,
            "labels": {kueue.JOB_UID_LABEL: meta.uid},
            "annotations": {
                k: v for k, v in meta.annotations.items() if k.startswith(kueue.PROVREQ_ANNOTATION_PREFIX)
            },
            "finalizers": [kueue.RESOURCE_IN_USE],
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
        "spec": {"active": True, **desired_spec(job, world)},
    }
    return Create(WORKLOADS, body)


def desired_spec(job: Job, world: World) -> dict[str, Any]:
    priority, ref = priority_of(job, world)
    return {
        "queueName": queue_name(job),
        "podSets": builtins(pod_sets(job.places)),
        "priority": priority,
        "priorityClassRef": builtins(ref),
    }


def update_workload(workload: kueue.Workload, job: Job, world: World) -> Write | None:
    """What the user changed of a job that has no quota yet, brought to its Workload."""
    wanted = desired_spec(job, world)
    spec = workload.spec
    now = {
        "queueName": spec.queue_name,
        "priority": spec.priority,
        "priorityClassRef": builtins(spec.priority_class_ref),
    }
    changed = {key: wanted[key] for key in now if wanted[key] != now[key]}
    if _shape(spec.pod_sets) != _shape(pod_sets(job.places)):
        changed["podSets"] = wanted["podSets"]
    if not changed:
        return None
    return MergePatch(WORKLOADS, workload.key, {"spec": changed}, workload.metadata.resource_version)


def _shape(sets: tuple[kueue.PodSet, ...]) -> list[tuple[str, int, object]]:
    return [(s.name, s.count, _requests(s)) for s in sets]


def _requests(pod_set: kueue.PodSet) -> object:
    try:
        return pod_requests(pod_set.template)
    except QuantityError as error:
        return str(error)
