"""Manifests of Ray jobs, Ray clusters, queues and flavors, as plain dicts."""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.names import (
    KUEUE_GROUP,
    PRIORITY_LABEL,
    PROVISIONING_CONTROLLER,
    QUEUE_LABEL,
    REQUEST_LABEL,
)

Body = dict[str, Any]
GPU = "nvidia.com/gpu"
SUFFIXES = {"m": Fraction(1, 1000), "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30)}
CHECK = "queued-provisioning"
TAINTS = (
    {"key": GPU, "value": "present", "effect": "NoSchedule"},
    {"key": "cloud.google.com/gke-queued", "value": "true", "effect": "NoSchedule"},
)
TOLERATIONS = [{**t, "operator": "Equal"} for t in TAINTS]
PRIORITIES = {"prod-priority": 1000, "dev-priority": 100}
RUN_SECONDS, OUTCOME = "sandbox.muster.dev/run-seconds", "sandbox.muster.dev/outcome"


def template(name: str, **requests: object) -> Body:
    resources = {"requests": {k.replace("gpu", GPU): str(v) for k, v in requests.items()}} if requests else {}
    return {"spec": {"containers": [{"name": name, "image": "ray", "resources": resources}]}}


HEAD = template("head", cpu=1, memory="2Gi")
WORKER = template("worker", cpu=2, memory="4Gi", gpu=1)


def ray_cluster_spec(workers: int, worker: Body = WORKER, head: Body = HEAD) -> Body:
    group = {"groupName": "gpu", "replicas": workers, "minReplicas": 0, "maxReplicas": 100, "numOfHosts": 1}
    return {"headGroupSpec": {"template": head}, "workerGroupSpecs": [{**group, "template": worker}]}


def metadata(name: str, namespace: str, queue: str, priority: str) -> Body:
    labels = {QUEUE_LABEL: queue, PRIORITY_LABEL: priority}
    return {"name": name, "namespace": namespace, "labels": {k: v for k, v in labels.items() if v}}


def ray_job(
    name: str,
    *,
    workers: int = 4,
    priority: str = "dev-priority",
    namespace: str = "team-a",
    queue: str = "user-queue",
    seconds: float = 20,
    outcome: str = "SUCCEEDED",
    worker: Body = WORKER,
    **spec: Any,
) -> Body:
    """Returns a RayJob, suspended as by the admission policy. `spec` adds or replaces fields."""
    meta = metadata(name, namespace, queue, priority)
    meta["annotations"] = {RUN_SECONDS: str(seconds), OUTCOME: outcome}
    cluster = ray_cluster_spec(workers, worker)
    fixed = {"suspend": True, "shutdownAfterJobFinishes": True, "submissionMode": "K8sJobMode"}
    return {"metadata": meta, "spec": {**fixed, "rayClusterSpec": cluster, **spec}}


def annotated(job: Body, **annotations: str) -> Body:
    """Returns the job with these annotations of muster.dev."""
    added = {f"muster.dev/{name}": value for name, value in annotations.items()}
    meta = job["metadata"]
    return {**job, "metadata": {**meta, "annotations": {**meta.get("annotations", {}), **added}}}


def batch_job(
    name: str,
    *,
    pods: int = 4,
    priority: str = "dev-priority",
    namespace: str = "team-a",
    queue: str = "user-queue",
    seconds: float = 20,
    outcome: str = "SUCCEEDED",
    worker: Body = WORKER,
    **spec: Any,
) -> Body:
    """Returns a Job, suspended as by the admission policy. `spec` adds or replaces fields."""
    meta = metadata(name, namespace, queue, priority)
    meta["annotations"] = {RUN_SECONDS: str(seconds), OUTCOME: outcome}
    return {"metadata": meta, "spec": {"suspend": True, "parallelism": pods, "template": worker, **spec}}


def job_set(
    name: str,
    *replicated: Body,
    priority: str = "dev-priority",
    namespace: str = "team-a",
    queue: str = "user-queue",
    **spec: Any,
) -> Body:
    """Returns a JobSet, suspended as by the admission policy; by default of two Jobs with two pods each."""
    jobs = list(replicated) or [replicated_job("workers")]
    meta = metadata(name, namespace, queue, priority)
    return {"metadata": meta, "spec": {"suspend": True, "replicatedJobs": jobs, **spec}}


def replicated_job(
    name: str,
    *,
    replicas: int = 2,
    pods: int = 2,
    seconds: float = 20,
    outcome: str = "SUCCEEDED",
    worker: Body = WORKER,
) -> Body:
    meta = {"annotations": {RUN_SECONDS: str(seconds), OUTCOME: outcome}}
    return {
        "name": name,
        "replicas": replicas,
        "template": {"metadata": meta, "spec": {"parallelism": pods, "template": worker}},
    }


def leader_worker_set(
    name: str,
    *,
    groups: int = 2,
    size: int = 2,
    priority: str = "dev-priority",
    namespace: str = "team-a",
    queue: str = "user-queue",
    max_surge: int = 0,
    **group: Any,
) -> Body:
    """Returns a LeaderWorkerSet, suspended as by the admission policy; by default all pods have one template.
    `group` adds fields of the group's template."""
    meta = metadata(name, namespace, queue, priority)
    meta["annotations"] = {"muster.dev/replicas": str(groups)}
    strategy = {"maxUnavailable": 1, "maxSurge": max_surge, "partition": 0}
    spec = {
        "replicas": 0,
        "leaderWorkerTemplate": {"size": size, "workerTemplate": WORKER, **group},
        "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": strategy},
        "startupPolicy": "LeaderCreated",
    }
    return {"metadata": meta, "spec": spec}


def ray_cluster(
    name: str, *, workers: int = 2, priority: str = "dev-priority", namespace: str = "team-a"
) -> Body:
    meta = metadata(name, namespace, "user-queue", priority)
    return {"metadata": meta, "spec": {**ray_cluster_spec(workers), "suspend": True}}


def ray_service(
    name: str,
    *,
    workers: int = 2,
    priority: str = "prod-priority",
    namespace: str = "team-a",
    worker: Body = WORKER,
    **spec: Any,
) -> Body:
    """Returns an object suspended as by the admission policy. `spec` adds or replaces fields."""
    cluster = {**ray_cluster_spec(workers, worker), "suspend": True}
    fixed = {"upgradeStrategy": {"type": "None"}, "rayClusterConfig": cluster}
    return {"metadata": metadata(name, namespace, "user-queue", priority), "spec": {**fixed, **spec}}


def workload(
    name: str,
    *,
    pods: int = 2,
    priority: int = 100,
    namespace: str = "team-a",
    seconds: float = 20,
    **spec: Any,
) -> Body:
    """Returns a Workload without a job. `spec` adds or replaces fields."""
    annotations = {RUN_SECONDS: str(seconds)}
    meta = {"name": name, "namespace": namespace, "labels": {}, "annotations": annotations}
    pod_sets = [{"name": "main", "count": pods, "template": WORKER}]
    fixed = {"queueName": "user-queue", "active": True, "priority": priority, "podSets": pod_sets}
    return {"metadata": meta, "spec": {**fixed, **spec}}


def flavor(name: str, *, queued: bool = False) -> Body:
    labels = {"cloud.google.com/gke-nodepool": name}
    gpu: Body = {"nodeTaints": list(TAINTS), "tolerations": TOLERATIONS}
    return {"metadata": {"name": name}, "spec": {"nodeLabels": labels, **(gpu if queued else {})}}


def quotas(flavor: str, **resources: object) -> Body:
    """Returns a quota: a number is the nominal quota; a dict adds limits."""

    def resource_quota(name: str, quota: object) -> Body:
        limits = quota if isinstance(quota, Mapping) else {"nominalQuota": str(quota)}
        return {"name": name.replace("gpu", GPU), **limits}

    return {"name": flavor, "resources": [resource_quota(n, q) for n, q in resources.items()]}


def group(*flavors: Body) -> Body:
    return {"coveredResources": [r["name"] for r in flavors[0]["resources"]], "flavors": list(flavors)}


def cluster_queue(name: str, *flavors: Body, cohort: str = "ml", check: bool = False, **spec: Any) -> Body:
    rules = [{"name": CHECK, "onFlavors": ["l4"]}] if check else []
    body = {
        "cohortName": cohort,
        "namespaceSelector": {},
        "resourceGroups": [group(*flavors)],
        "admissionChecksStrategy": {"admissionChecks": rules},
        **spec,
    }
    return {"metadata": {"name": name}, "spec": body}


def local_queue(namespace: str, target: str, name: str = "user-queue") -> Body:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"clusterQueue": target}}


def provisioning(limit: int = 3, base_s: int = 1, max_s: int = 1800) -> dict[Kind[Any], list[Body]]:
    retry = {"backoffLimitCount": limit, "backoffBaseSeconds": base_s, "backoffMaxSeconds": max_s}
    update = {"key": REQUEST_LABEL, "valueFromProvisioningClassDetail": "ResizeRequestName"}
    config = {
        "provisioningClassName": "queued-provisioning.gke.io",
        "managedResources": [GPU],
        "retryStrategy": retry,
        "podSetUpdates": {"nodeSelector": [update]},
    }
    parameters = {"apiGroup": KUEUE_GROUP, "kind": "ProvisioningRequestConfig", "name": CHECK}
    check = {"controllerName": PROVISIONING_CONTROLLER, "parameters": parameters}
    return {
        kinds.PROVISIONING_CONFIGS: [{"metadata": {"name": CHECK}, "spec": config}],
        kinds.CHECKS: [{"metadata": {"name": CHECK}, "spec": check}],
    }


def stack(
    *queues: Body, cohorts: tuple[Body, ...] = (), retry: Mapping[str, int] | None = None
) -> dict[Kind[Any], list[Body]]:
    """Returns a platform: each ClusterQueue with its own namespace and LocalQueue."""
    names = [q["metadata"]["name"] for q in queues]
    return {
        kinds.NAMESPACES: [{"metadata": {"name": n}} for n in names],
        kinds.FLAVORS: [flavor("cpu"), flavor("l4", queued=True)],
        kinds.COHORTS: [{"metadata": {"name": "ml"}, "spec": {}}, *cohorts],
        kinds.PRIORITIES: [{"metadata": {"name": n}, "value": v} for n, v in PRIORITIES.items()],
        **provisioning(**(retry or {})),
        kinds.CLUSTER_QUEUES: list(queues),
        kinds.LOCAL_QUEUES: [local_queue(n, n) for n in names],
    }


NO_BORROWING = {"nominalQuota": "4", "borrowingLimit": "0"}
PREEMPTION = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}


def local_stack(*, check: bool = True, retry: Mapping[str, int] | None = None) -> dict[Kind[Any], list[Body]]:
    """Returns a platform like stack `local`: one gang of four workers fills team-a's GPUs."""
    cpu = quotas("cpu", cpu=8, memory="32Gi", gpu=0)
    team_a = quotas("l4", cpu=16, memory="64Gi", gpu=NO_BORROWING)
    team_b = quotas("l4", cpu=16, memory="64Gi", gpu=4)
    return stack(
        cluster_queue("team-a", cpu, team_a, check=check, preemption=PREEMPTION),
        cluster_queue("team-b", cpu, team_b, check=check),
        retry=retry,
    )


@lru_cache
def quantity(text: str) -> Fraction:
    suffix = next((s for s in SUFFIXES if text.endswith(s)), "")
    return Fraction(text.removesuffix(suffix)) * SUFFIXES.get(suffix, Fraction(1))
