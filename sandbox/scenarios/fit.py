"""Fits a scenario's gangs to the quotas of a stack, or reports what the stack lacks. Pure.

In a scenario the second gang preempts the first, so each must fit alone, and both must not fit together. Only
the number of GPU workers is changed, if that of the examples does not fit.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence

from muster.objects.names import PRIORITY_LABEL, QUEUE_LABEL
from sandbox.cluster.kinds import Object
from sandbox.scenarios.gangs import cluster_spec
from sandbox.scenarios.milestones import Scenario
from sandbox.scenarios.queue_capacity import PodSet, QueueCapacity, capacity_of
from sandbox.scenarios.worker_sizes import is_autoscaled
from sandbox.stand_ins.capacity import pod_requests
from sandbox.stand_ins.ray_autoscaler import WORKERS
from settings.load import Settings
from settings.model.queues.queue import ClusterQueue
from settings.model.tenants.tenant import Tenant
from tools.toolchain.steps import StepError

# The requests of KubeRay's default pod that submits a RayJob.
SUBMITTER = {"cpu": "500m", "memory": "200Mi"}


def fit(
    scenario: Scenario, manifests: Mapping[str, Object], settings: Settings, remedy: str
) -> dict[str, Object]:
    """Returns the manifests by role, with the numbers of workers that the scenario needs with these quotas.

    Raises: StepError with what the stack lacks; `remedy` is what the user can do.
    """
    problems = list(_unmet(scenario, manifests, settings))
    if not problems:
        first, second = manifests.values()
        capacity = capacity_of(settings, _queue(first, settings))
        if is_autoscaled(first):  # it grows in one flavor, in which the second preempts it
            capacity = capacity.first_flavors()
        sizes = _sizes(first, second, capacity)
        if sizes is not None:
            return {role: resized(manifests[role], n) for role, n in zip(manifests, sizes, strict=True)}
        problems = _too_little(manifests, capacity, settings) or [
            _too_much(first, second, capacity, settings)
        ]
    raise StepError(f"scenario {scenario.name} needs " + "; ".join(problems), try_this=remedy)


def workers(manifest: Object) -> int:
    """Returns the largest number of workers of the job."""
    (group,) = cluster_spec(manifest)["workerGroupSpecs"]
    return int(group["maxReplicas"])


def resized(manifest: Object, replicas: int) -> Object:
    """Returns the manifest with this many workers, at most if it is autoscaled."""
    changed = copy.deepcopy(manifest)
    (group,) = cluster_spec(changed)["workerGroupSpecs"]
    group["maxReplicas"] = replicas
    if is_autoscaled(manifest):
        changed["metadata"]["annotations"][WORKERS] = f"{group['groupName']}={replicas}"
    else:
        group |= {"replicas": replicas, "minReplicas": replicas}
    return changed


def _unmet(scenario: Scenario, manifests: Mapping[str, Object], settings: Settings) -> Iterator[str]:
    """Yields what the examples refer to, or preemption requires, but the stack lacks."""
    priorities = settings.admission.priorities
    queues: set[str] = set()
    for role, manifest in manifests.items():
        namespace, labels = manifest["metadata"]["namespace"], manifest["metadata"]["labels"]
        local, priority = labels[QUEUE_LABEL], labels[PRIORITY_LABEL]
        tenant = _tenant(manifest, settings)
        if tenant is None or local not in tenant.queues:
            yield f"a tenant with namespace {namespace} and queue {local} for its {role} job"
            continue
        queues.add(tenant.queues[local])
        if priority not in priorities or (
            tenant.priorities is not None and priority not in tenant.priorities
        ):
            yield f"priority {priority} for namespace {namespace}"
    values = [priorities.get(m["metadata"]["labels"][PRIORITY_LABEL]) for m in manifests.values()]
    if None not in values and values != sorted(set(values), key=lambda v: v or 0):
        first, second = (m["metadata"]["labels"][PRIORITY_LABEL] for m in manifests.values())
        yield f"priority {second} above {first}"
    for queue in settings.queues.cluster_queues:
        if queue.name not in queues:
            continue
        if queue.stop != "None":
            yield f"ClusterQueue {queue.name} without stop: {queue.stop}"
        if queue.preemption.within_cluster_queue == "Never" and settings.admission.engine != "kai":
            yield f"preemption.withinClusterQueue: LowerPriority in ClusterQueue {queue.name}"


def _tenant(manifest: Object, settings: Settings) -> Tenant | None:
    namespace = manifest["metadata"]["namespace"]
    return next((t for t in settings.tenants if t.namespace == namespace), None)


def _queue(manifest: Object, settings: Settings) -> ClusterQueue:
    local = f"{manifest['metadata']['namespace']}/{manifest['metadata']['labels'][QUEUE_LABEL]}"
    name = settings.local_queues[local]
    return next(q for q in settings.queues.cluster_queues if q.name == name)


def _sizes(first: Object, second: Object, capacity: QueueCapacity) -> tuple[int, int] | None:
    """Returns the numbers of workers of both gangs, as close to the examples' as possible; None if none
    fit."""
    first_max = _largest(first, capacity, borrowing=True)
    second_max = _largest(second, capacity, borrowing=False)
    if 0 in (first_max, second_max):
        return None
    for n in range(min(workers(second), second_max), second_max + 1):
        for m in range(min(workers(first), first_max), first_max + 1):
            if not _together(resized(first, m), resized(second, n), capacity):
                return m, n
    return None


def _largest(manifest: Object, capacity: QueueCapacity, borrowing: bool) -> int:
    bound = capacity.pods_of(_gang(manifest)[-1])
    sizes = range(bound, 0, -1)
    return next(
        (n for n in sizes if capacity.place(_gang(resized(manifest, n)), {}, borrowing) is not None), 0
    )


def _together(first: Object, second: Object, capacity: QueueCapacity) -> bool:
    return capacity.place([*_gang(first), *_gang(second)], {}, borrowing=True) is not None


def _gang(manifest: Object) -> list[PodSet]:
    """Returns the pod sets of the gang: the head, the submitter of a RayJob, and last the workers."""
    spec = cluster_spec(manifest)
    (group,) = spec["workerGroupSpecs"]
    pod = spec["headGroupSpec"]["template"]["spec"]
    autoscaler = [spec["autoscalerOptions"]] if is_autoscaled(manifest) else []
    head = PodSet(1, pod_requests({**pod, "containers": [*pod["containers"], *autoscaler]}))
    default = {"spec": {"containers": [{"resources": {"requests": SUBMITTER}}]}}
    submitter = PodSet(1, pod_requests(manifest["spec"].get("submitterPodTemplate", default)["spec"]))
    hosts = int(group.get("numOfHosts", 1))
    pods = PodSet(int(group["maxReplicas"]) * hosts, pod_requests(group["template"]["spec"]))
    return [head, *([submitter] if manifest["kind"] == "RayJob" else []), pods]


def _too_little(manifests: Mapping[str, Object], capacity: QueueCapacity, settings: Settings) -> list[str]:
    """Returns what the stack lacks for the smallest gang of each role."""
    problems = []
    for role, manifest in manifests.items():
        for shortage in capacity.shortages(_gang(resized(manifest, 1))):
            amount = f"{shortage.needs.normalize():f} {shortage.resource} of flavor {shortage.flavor}"
            where = (
                "in its pools"
                if shortage.resource == "nodes"
                else f"in ClusterQueue {_queue(manifest, settings).name}"
            )
            available = f"the stack has {shortage.available.normalize():f}"
            problems.append(f"{amount} {where} for the {role} job; {available}")
    return list(dict.fromkeys(problems))


def _too_much(first: Object, second: Object, capacity: QueueCapacity, settings: Settings) -> str:
    m, n = _largest(first, capacity, borrowing=True), _largest(second, capacity, borrowing=False)
    return (
        f"two jobs that do not fit together: even {m} and {n} workers, the most that fit alone, fit into "
        f"ClusterQueue {_queue(first, settings).name}; lower its quotas or raise the pools' nodes.max"
    )


def changes(before: Mapping[str, Object], after: Mapping[str, Object]) -> Sequence[str]:
    """Returns a sentence for each role whose number of workers `fit` has changed."""
    return [
        f"the {role} job has {workers(after[role])} workers instead of {workers(before[role])}"
        for role in before
        if workers(after[role]) != workers(before[role])
    ]
