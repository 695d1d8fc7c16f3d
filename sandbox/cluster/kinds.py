"""The kinds that the sandbox's stand-ins read and write, as plain dictionaries.

Every kind is a generic lightkube resource, including built-in ones: the stand-ins use few fields, and must
pass on the others (labels, conditions) unchanged. They do not use the controller's API views, so that
mistakes in those are noticed and not repeated.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
from lightkube import ApiError, Client, KubeConfig
from lightkube.generic_resource import create_global_resource, create_namespaced_resource
from lightkube.types import CascadeType

from muster.cluster.jobs.kinds import JOB_KINDS
from muster.cluster.jobs.rayjob import RAY_CRON_JOB

Object = dict[str, Any]
"""A Kubernetes object as its JSON."""

Kind = Any
"""A lightkube resource class; lightkube makes them at run time, so there is no narrower type."""

ConfigMap: Kind = create_namespaced_resource("", "v1", "ConfigMap", "configmaps")
Namespace: Kind = create_global_resource("", "v1", "Namespace", "namespaces")
Node: Kind = create_global_resource("", "v1", "Node", "nodes")
PersistentVolume: Kind = create_global_resource("", "v1", "PersistentVolume", "persistentvolumes")
PersistentVolumeClaim: Kind = create_namespaced_resource(
    "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"
)
Pod: Kind = create_namespaced_resource("", "v1", "Pod", "pods")
PodTemplate: Kind = create_namespaced_resource("", "v1", "PodTemplate", "podtemplates")
Secret: Kind = create_namespaced_resource("", "v1", "Secret", "secrets")
Service: Kind = create_namespaced_resource("", "v1", "Service", "services")
CustomResourceDefinition: Kind = create_global_resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"
)
MutatingWebhookConfiguration: Kind = create_global_resource(
    "admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"
)
ValidatingWebhookConfiguration: Kind = create_global_resource(
    "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"
)
ProvisioningRequest: Kind = create_namespaced_resource(
    "autoscaling.x-k8s.io", "v1", "ProvisioningRequest", "provisioningrequests"
)
ClusterRole: Kind = create_global_resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles")
ClusterQueue: Kind = create_global_resource("kueue.x-k8s.io", "v1beta2", "ClusterQueue", "clusterqueues")
Cohort: Kind = create_global_resource("kueue.x-k8s.io", "v1beta2", "Cohort", "cohorts")
LocalQueue: Kind = create_namespaced_resource("kueue.x-k8s.io", "v1beta2", "LocalQueue", "localqueues")
PodGroup: Kind = create_namespaced_resource("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups")
JOBS: Mapping[str, Kind] = {
    job.name: create_namespaced_resource(job.kind.group, job.kind.version, job.name, job.plural)
    for job in JOB_KINDS
}
CronJob: Kind = create_namespaced_resource("batch", "v1", "CronJob", "cronjobs")
RayCronJob: Kind = create_namespaced_resource(
    RAY_CRON_JOB.group, "v1", RAY_CRON_JOB.name, RAY_CRON_JOB.plural
)
RayCluster, RayJob, RayService = (JOBS[name] for name in ("RayCluster", "RayJob", "RayService"))
Workload: Kind = create_namespaced_resource("kueue.x-k8s.io", "v1beta2", "Workload", "workloads")
WorkloadPriorityClass: Kind = create_global_resource(
    "kueue.x-k8s.io", "v1beta2", "WorkloadPriorityClass", "workloadpriorityclasses"
)


def connect(kubeconfig: Path) -> Client:
    """Returns a client of the kubeconfig's cluster, which ignores the environment's proxies (loopback)."""
    client = Client(config=KubeConfig.from_file(str(kubeconfig)), trust_env=False)
    # lightkube 1.0.1 does not close the response to a watch that is refused: its connection would stay in use
    http: Any = client._client
    http._client.event_hooks = {"response": [_read_refusal]}
    return client


def _read_refusal(response: httpx2.Response) -> None:
    """Reads the response to a failed request, which closes it."""
    if response.is_error:
        response.read()


def jobs(client: Client, labels: Mapping[str, str] | None = None) -> list[tuple[str, Object]]:
    """Returns the kind's name and the object of each job, of all kinds that the API server serves."""
    unserved = {job.name for job in JOB_KINDS if job.optional and not _is_defined(client, job.kind.resource)}
    selected: dict[str, Any] = dict(labels or {})
    return [
        (name, obj)
        for name, kind in JOBS.items()
        if name not in unserved
        for obj in client.list(kind, namespace="*", labels=selected)
    ]


def _is_defined(client: Client, name: str) -> bool:
    try:
        client.get(CustomResourceDefinition, name)
    except ApiError as error:
        if error.status.code != 404:
            raise
        return False
    return True


def condition(obj: Object, name: str) -> Object:
    """Returns the condition `name` of the object's status, or an empty dictionary."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    return next((c for c in conditions if c["type"] == name), {})


def is_true(obj: Object, name: str) -> bool:
    """Returns whether the condition `name` is True."""
    return bool(condition(obj, name).get("status") == "True")


def key(obj: Object) -> tuple[str, str]:
    """Returns namespace (empty for cluster-scoped objects) and name."""
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def delete(client: Client, kind: Kind, obj: Object) -> None:
    """Deletes `obj` if it exists: the garbage collector may have deleted a RayJob's RayCluster."""
    namespace, name = key(obj)
    try:
        # By default, the API server would orphan the pods of batch/v1 Jobs.
        client.delete(kind, name, namespace=namespace, cascade=CascadeType.BACKGROUND)
    except ApiError as error:
        if error.status.code != 404:
            raise
