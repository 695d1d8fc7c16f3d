"""The kinds that Muster reads or writes: their paths in the API, and their typed views."""

import types
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lightkube.core import resource as lk
from lightkube.generic_resource import (
    GenericGlobalResource,
    GenericNamespacedResource,
    create_api_info,
    create_global_resource,
    create_namespaced_resource,
)

from muster.objects import (
    autoscaling,
    coordination,
    core,
    kueue,
    kueue_checks,
    kueue_queues,
    limits,
    ray,
    topology,
)
from muster.objects.meta import Object

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, eq=False)
class Kind(Generic[T]):
    """A kind of the API. `resource` decodes into `view`; `body` is its untyped counterpart for writes."""

    api_version: str
    name: str
    view: type[T]
    resource: Any
    body: Any
    namespaced: bool

    def __repr__(self) -> str:
        return self.name


def define(group: str, version: str, name: str, plural: str, view: type[T], *, namespaced: bool) -> Kind[T]:
    info = create_api_info(group, version, name, plural)
    base = lk.NamespacedResourceG if namespaced else lk.GlobalResource

    resource = types.new_class(name, (base, view), {}, lambda body: body.update(_api_info=info))
    if not group:
        # lightkube registers a core kind once per process, which other libraries may do
        untyped = GenericNamespacedResource if namespaced else GenericGlobalResource
        body: Any = types.new_class(name, (untyped,), {}, lambda body: body.update(_api_info=info))
        return Kind(version, name, view, resource, body, namespaced)
    create = create_namespaced_resource if namespaced else create_global_resource
    body = create(group, version, name, plural)
    return Kind(f"{group}/{version}", name, view, resource, body, namespaced)


def _kueue(name: str, plural: str, view: type[T], *, namespaced: bool = False) -> Kind[T]:
    return define(kueue.GROUP, "v1beta2", name, plural, view, namespaced=namespaced)


WORKLOADS = _kueue("Workload", "workloads", kueue.Workload, namespaced=True)
LOCAL_QUEUES = _kueue("LocalQueue", "localqueues", kueue_queues.LocalQueue, namespaced=True)
CLUSTER_QUEUES = _kueue("ClusterQueue", "clusterqueues", kueue_queues.ClusterQueue)
COHORTS = _kueue("Cohort", "cohorts", kueue_queues.Cohort)
FLAVORS = _kueue("ResourceFlavor", "resourceflavors", kueue_queues.ResourceFlavor)
TOPOLOGIES = _kueue("Topology", "topologies", topology.Topology)
PRIORITIES = _kueue("WorkloadPriorityClass", "workloadpriorityclasses", kueue_queues.WorkloadPriorityClass)
CHECKS = _kueue("AdmissionCheck", "admissionchecks", kueue_checks.AdmissionCheck)
PROVISIONING_CONFIGS = _kueue(
    "ProvisioningRequestConfig", "provisioningrequestconfigs", kueue_checks.ProvisioningRequestConfig
)
RAY_JOBS = define("ray.io", "v1", "RayJob", "rayjobs", ray.RayJob, namespaced=True)
RAY_CLUSTERS = define("ray.io", "v1", "RayCluster", "rayclusters", ray.RayCluster, namespaced=True)
RAY_SERVICES = define("ray.io", "v1", "RayService", "rayservices", ray.RayService, namespaced=True)
PROVISIONING_REQUESTS = define(
    "autoscaling.x-k8s.io",
    "v1",
    "ProvisioningRequest",
    "provisioningrequests",
    autoscaling.ProvisioningRequest,
    namespaced=True,
)
PODS = define("", "v1", "Pod", "pods", core.Pod, namespaced=True)
BOUND_PODS = define("", "v1", "Pod", "pods", topology.BoundPod, namespaced=True)
NODES = define("", "v1", "Node", "nodes", topology.Node, namespaced=False)
POD_TEMPLATES = define("", "v1", "PodTemplate", "podtemplates", Object, namespaced=True)
NAMESPACES = define("", "v1", "Namespace", "namespaces", core.Namespace, namespaced=False)
LIMIT_RANGES = define("", "v1", "LimitRange", "limitranges", limits.LimitRange, namespaced=True)
SERVICES = define("", "v1", "Service", "services", Object, namespaced=True)
BATCH_JOBS = define("batch", "v1", "Job", "jobs", Object, namespaced=True)
RUNTIME_CLASSES = define(
    "node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", core.RuntimeClass, namespaced=False
)
EVENTS = define("", "v1", "Event", "events", Object, namespaced=True)
POD_PRIORITIES = define(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", core.PriorityClass, namespaced=False
)
LEASES = define("coordination.k8s.io", "v1", "Lease", "leases", coordination.Lease, namespaced=True)
