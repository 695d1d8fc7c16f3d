"""Counts the devices of gangs' pods (dynamic resource allocation), and checks the claims of pods.

Tenants can create neither ResourceClaims nor ResourceClaimTemplates (components/tenants/team_access.py), so
the tenant may use every existing template, any number of times.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.ray_gpus import is_gpu
from muster.objects import kueue
from muster.objects.derived import Derived
from muster.objects.devices import DeviceClass, ResourceClaimTemplate
from muster.objects.kueue_queues import ClusterQueue
from muster.objects.names import DEVICE_CLASSES
from muster.objects.pods import read_template
from muster.translation.devices import (
    NO_DEVICES,
    DeviceRequests,
    UncountableClaim,
    claimed_devices,
    device_classes,
    extended_resources,
    uncounted_classes,
)

_CLASSES_NAMED_MAX = 5


def claims_problem(workload: kueue.Workload, cluster: ClusterState) -> str | None:
    """Returns a sentence about the first claim that prevents pods from running, is not allowed or can't be
    counted; None if there is none."""
    return _problem(workload, cluster.cluster_queues.get(cluster.cluster_queue_of(workload) or ""), cluster)


def gpus_problem(workload: kueue.Workload, job: Job, cluster: ClusterState) -> str | None:
    """Returns a sentence about the first pod set that claims GPUs which Ray would not use, so that its tasks
    would wait forever; None if there is none."""
    unset = job.pod_sets_without_gpus if _claims(workload.spec)[1] else frozenset()
    queue = cluster.cluster_queue_of(workload) if unset else None
    claimed = device_requests(workload, queue, cluster).claimed if queue is not None else {}
    for pod_set in sorted(unset & claimed.keys()):
        gpus = sum(count for resource, count in claimed[pod_set].items() if is_gpu(resource))
        if gpus:
            return (
                f"pod set {pod_set!r}: each pod claims {gpus} GPUs, but Ray would start with none: set "
                f'rayStartParams num-gpus: "{gpus}", or "0" if Ray must not use them'
            )
    return None


def device_requests(workload: kueue.Workload, queue: str, cluster: ClusterState) -> DeviceRequests:
    """Returns the devices of the Workload's pods as resources of a ClusterQueue, and why they can't all be
    counted."""
    obj = cluster.cluster_queues.get(queue)
    problem = _problem(workload, obj, cluster) or ""
    if obj is None or DEVICE_CLASSES not in obj.metadata.annotations:
        return DeviceRequests(problem=problem) if problem else NO_DEVICES
    return DeviceRequests(
        _claimed(workload, _classes(obj) or {}, cluster),
        cluster.cache.get(_extended_resources, obj.key, obj, *cluster.device_classes.values()),
        problem,
    )


def _problem(workload: kueue.Workload, queue: ClusterQueue | None, cluster: ClusterState) -> str | None:
    problem, claims = _claims(workload.spec)
    if problem is not None:
        return problem
    namespace = workload.metadata.namespace
    for pod_set, name in claims:
        template = cluster.claim_templates.get(f"{namespace}/{name}")
        if template is None:
            return (
                f"pod set {pod_set!r}: namespace {namespace} has no ResourceClaimTemplate {name!r}, so "
                f"no pod can run: choose one of {_templates_in(namespace, cluster)}, or ask an administrator "
                "to declare it (muster:tenants[].deviceClaims)"
            )
    classes = _classes(queue) if queue is not None and claims else None
    if classes is None:  # nothing to count, or a problem of the queue, which is reported as such
        return None
    for pod_set, name in claims:
        try:
            claimed_devices(cluster.claim_templates[f"{namespace}/{name}"].spec.spec, classes)
        except UncountableClaim as problem_of_claim:
            return f"pod set {pod_set!r}: ResourceClaimTemplate {name!r} {problem_of_claim}"
    return None


def uncounted(workload: kueue.Workload, queue: ClusterQueue, cluster: ClusterState) -> str:
    """Returns a sentence to append to the message of QuotaReserved; empty if quota counts all devices."""
    classes = _classes(queue) or {}
    names: set[str] = set()
    for _, template in _templates_of(workload, cluster):
        names |= uncounted_classes(template.spec.spec, classes)
    if not names:
        return ""
    named = ", ".join(sorted(names)[:_CLASSES_NAMED_MAX])
    more = len(names) - _CLASSES_NAMED_MAX
    return (
        f". Devices of DeviceClass {named}{f' and {more} more' if more > 0 else ''} are not counted in quota"
    )


def _templates_in(namespace: str, cluster: ClusterState) -> str:
    names = (t.metadata.name for t in cluster.claim_templates.values() if t.metadata.namespace == namespace)
    return ", ".join(sorted(names)) or "none"


def _classes(queue: ClusterQueue) -> Mapping[str, str] | None:
    """Returns the quota resources of DeviceClasses in a queue; None if its annotation is unreadable."""
    with suppress(ValueError):
        return device_classes(queue.metadata.annotations)
    return None


def _extended_resources(queue: ClusterQueue, *classes: DeviceClass) -> Mapping[str, str]:
    return extended_resources(classes, _classes(queue) or {})


def _claimed(
    workload: kueue.Workload, classes: Mapping[str, str], cluster: ClusterState
) -> dict[str, dict[str, int]]:
    """Returns the claimed devices of one pod of each pod set, by quota resource."""
    total: dict[str, dict[str, int]] = {}
    for pod_set, template in _templates_of(workload, cluster):
        with suppress(UncountableClaim):
            of_pod = total.setdefault(pod_set, {})
            for resource, count in claimed_devices(template.spec.spec, classes).items():
                of_pod[resource] = of_pod.get(resource, 0) + count
    return total


def _templates_of(
    workload: kueue.Workload, cluster: ClusterState
) -> Iterator[tuple[str, ResourceClaimTemplate]]:
    """Yields the pod set and the template of each claim, without templates that do not exist."""
    for pod_set, name in _claims(workload.spec)[1]:
        template = cluster.claim_templates.get(f"{workload.metadata.namespace}/{name}")
        if template is not None:
            yield pod_set, template


@Derived
def _claims(spec: kueue.WorkloadSpec) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Returns the first problem of the claims themselves, and the pod set and the ResourceClaimTemplate of
    each claim of its pods, which all containers of a pod share."""
    templates: list[tuple[str, str]] = []
    for pod_set in spec.pod_sets:
        for claim in read_template(pod_set.template).spec.resource_claims:
            if claim.resource_claim_name is not None:
                return (
                    f"pod set {pod_set.name!r}: claim {claim.name!r} names ResourceClaim "
                    f"{claim.resource_claim_name!r}, whose devices are not in quota and may be in use "
                    "by other gangs: set resourceClaimTemplateName to a template of the namespace instead",
                    (),
                )
            if claim.resource_claim_template_name is not None:
                templates.append((pod_set.name, claim.resource_claim_template_name))
    return None, tuple(templates)
