"""The kinds that Muster reads or writes: their paths in the API, and their typed views."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from muster.objects import (
    autoscaling,
    batch,
    coordination,
    core,
    devices,
    jobset,
    kueue,
    kueue_checks,
    kueue_queues,
    limits,
    lws,
    pod_status,
    ray,
    topology,
)
from muster.objects.meta import Object
from muster.objects.names import KUEUE_GROUP, KUEUE_VERSION

T = TypeVar("T", bound=Object)


class ObjectList(msgspec.Struct, Generic[T]):
    """One chunk of a list; `metadata` has the start of the next chunk."""

    class Metadata(msgspec.Struct, rename="camel"):
        """The list's resource version, and the token of the next chunk; empty in the last one."""

        resource_version: str = ""
        continue_: str = msgspec.field(default="", name="continue")

    metadata: Metadata
    items: list[T] | None = None


@dataclass(frozen=True, eq=False)
class Kind(Generic[T]):
    """A kind of the API; objects are decoded into `view`. `group` is empty for core kinds."""

    group: str
    version: str
    name: str
    plural: str
    view: type[T]
    namespaced: bool = field(kw_only=True)

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """Returns the name that roles and kubectl have for it, such as workloads.kueue.x-k8s.io."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Returns the path of an object or, without a name, of the objects in a namespace or the cluster."""
        parts = ("apis", self.group) if self.group else ("api",)
        where = ("namespaces", namespace) if namespace else ()
        return "/".join(("", *parts, self.version, *where, self.plural, *filter(None, (name, subresource))))

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[T]:
        """The decoder of one object."""
        return msgspec.json.Decoder(self.view)

    @cached_property
    def list_decoder(self) -> msgspec.json.Decoder[ObjectList[T]]:
        """The decoder of a list."""
        return msgspec.json.Decoder(ObjectList[self.view])  # type: ignore[name-defined]


AnyKind = Kind[Any]


def _kueue(name: str, plural: str, view: type[T], *, namespaced: bool = False) -> Kind[T]:
    return Kind(KUEUE_GROUP, KUEUE_VERSION, name, plural, view, namespaced=namespaced)


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
RAY_JOBS = Kind("ray.io", "v1", "RayJob", "rayjobs", ray.RayJob, namespaced=True)
RAY_CLUSTERS = Kind("ray.io", "v1", "RayCluster", "rayclusters", ray.RayCluster, namespaced=True)
RAY_SERVICES = Kind("ray.io", "v1", "RayService", "rayservices", ray.RayService, namespaced=True)
PROVISIONING_REQUESTS = Kind(
    "autoscaling.x-k8s.io",
    "v1",
    "ProvisioningRequest",
    "provisioningrequests",
    autoscaling.ProvisioningRequest,
    namespaced=True,
)
PODS = Kind("", "v1", "Pod", "pods", core.Pod, namespaced=True)
BOUND_PODS = Kind("", "v1", "Pod", "pods", topology.BoundPod, namespaced=True)
DETAILED_PODS = Kind("", "v1", "Pod", "pods", pod_status.DetailedPod, namespaced=True)
NODES = Kind("", "v1", "Node", "nodes", topology.Node, namespaced=False)
POD_TEMPLATES = Kind("", "v1", "PodTemplate", "podtemplates", Object, namespaced=True)
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", core.Namespace, namespaced=False)
LIMIT_RANGES = Kind("", "v1", "LimitRange", "limitranges", limits.LimitRange, namespaced=True)
SERVICES = Kind("", "v1", "Service", "services", Object, namespaced=True)
BATCH_JOBS = Kind("batch", "v1", "Job", "jobs", batch.Job, namespaced=True)
JOB_SETS = Kind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", jobset.JobSet, namespaced=True)
LEADER_WORKER_SETS = Kind(
    "leaderworkerset.x-k8s.io",
    "v1",
    "LeaderWorkerSet",
    "leaderworkersets",
    lws.LeaderWorkerSet,
    namespaced=True,
)
RUNTIME_CLASSES = Kind(
    "node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", core.RuntimeClass, namespaced=False
)
RESOURCE_CLAIM_TEMPLATES = Kind(
    "resource.k8s.io",
    "v1",
    "ResourceClaimTemplate",
    "resourceclaimtemplates",
    devices.ResourceClaimTemplate,
    namespaced=True,
)
DEVICE_CLASSES = Kind(
    "resource.k8s.io", "v1", "DeviceClass", "deviceclasses", devices.DeviceClass, namespaced=False
)
EVENTS = Kind("", "v1", "Event", "events", Object, namespaced=True)
POD_PRIORITIES = Kind(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", core.PriorityClass, namespaced=False
)
LEASES = Kind("coordination.k8s.io", "v1", "Lease", "leases", coordination.Lease, namespaced=True)
