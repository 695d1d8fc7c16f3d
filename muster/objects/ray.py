"""KubeRay's RayJob, RayCluster and RayService, `ray.io/v1`: the fields that admission uses.

Source: KubeRay ray-operator/apis/ray/v1 at v1.6.2 and v1.7.0.
"""

from typing import Any

import msgspec

from muster.objects.meta import Condition, Object, View
from muster.objects.pods import NO_TEMPLATE, Template, own_template
from muster.objects.sharing import keep_entries, share_maps, share_strings, share_struct

CLUSTER_LABEL = "ray.io/cluster"
GROUP_LABEL = "ray.io/group"  # of a pod; equal for all heads
NODE_TYPE_LABEL, HEAD_TYPE = "ray.io/node-type", "head"
REDIS_CLEANUP_TYPE = "redis-cleanup"  # of the pod of KubeRay's Redis clean-up Job
REDIS_CLEANUP_FINALIZER = "ray.io/gcs-ft-redis-cleanup-finalizer"
ORIGIN_NAME_LABEL = "ray.io/originated-from-cr-name"
ORIGIN_LABEL = "ray.io/originated-from-crd"  # of a RayCluster: the kind of its creator
KUBERAY_OPERATOR = "ray.io/kuberay-operator"
VERSION_ANNOTATION = "ray.io/kuberay-version"  # of a RayService's RayClusters: that of KubeRay
RESOURCE_PARAMETERS = ("num-cpus", "num-gpus", "memory", "resources")  # of `ray start`
READ_PARAMETERS = (*RESOURCE_PARAMETERS, "labels", "redis-password", "redis-username")


class RayGroup(View):
    """Common fields of head and worker groups."""

    template: Template = NO_TEMPLATE
    ray_start_params: dict[str, str] = {}
    resources: dict[str, str] = {}
    labels: dict[str, str] = {}

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "template", own_template(self.template))
        keep_entries(self, "ray_start_params", READ_PARAMETERS)
        share_maps(self, "ray_start_params", "resources", "labels")


class HeadGroup(RayGroup):
    """The head of a Ray cluster."""

    head_service: dict[str, Any] | None = None
    service_type: str = ""


class WorkerGroup(RayGroup):
    """Workers with the same template."""

    group_name: str = ""
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    num_of_hosts: int = 1
    suspend: bool = False
    idle_timeout_seconds: int | None = None
    priority: int | None = None  # since v1.7.0

    def __post_init__(self) -> None:
        super().__post_init__()
        share_strings(self, "group_name")

    @property
    def hosts(self) -> int:
        """Returns the pods of a replica."""
        return max(self.num_of_hosts, 1)

    @property
    def minimum(self) -> int:
        """Returns the pods that KubeRay always creates for an autoscaled cluster."""
        return 0 if self.suspend else max(self.min_replicas or 0, 0) * self.hosts

    @property
    def pods(self) -> int:
        """Returns the pods that KubeRay creates (GetWorkerGroupDesiredReplicas, times the hosts)."""
        if self.suspend:
            return 0
        replicas = max(self.replicas or 0, self.min_replicas or 0)
        if self.max_replicas is not None:
            replicas = min(replicas, self.max_replicas)
        return max(replicas, 0) * self.hosts


class AutoscalerOptions(View):
    """The autoscaler's container, which KubeRay adds to the head."""

    resources: dict[str, Any] | None = None
    image: str | None = None
    security_context: dict[str, Any] | None = None


class UpgradeStrategy(View):
    """The way in which KubeRay applies a change of the cluster's spec."""

    type: str = ""


class RayClusterSpec(View, gc=True, weakref=True):
    """The head and the worker groups of a Ray cluster."""

    head_group_spec: HeadGroup = HeadGroup()
    head_service_annotations: dict[str, str] = {}
    worker_group_specs: tuple[WorkerGroup, ...] = ()
    suspend: bool | None = None
    enable_in_tree_autoscaling: bool = False
    autoscaler_options: AutoscalerOptions = AutoscalerOptions()
    managed_by: str = KUBERAY_OPERATOR
    ray_version: str = ""
    auth_options: dict[str, Any] = {}
    gcs_fault_tolerance_options: dict[str, Any] | None = None
    history_server_options: dict[str, Any] | None = None  # since v1.7.0, as the next two
    network_policy: dict[str, Any] | None = None
    tls_options: dict[str, Any] | None = None
    upgrade_strategy: UpgradeStrategy = UpgradeStrategy()

    def __post_init__(self) -> None:
        share_maps(self, "head_service_annotations", "auth_options")
        share_strings(self, "managed_by", "ray_version")


class RayClusterStatus(View):
    """The state of a Ray cluster."""

    state: str = ""
    reason: str = ""
    available_worker_replicas: int = 0  # the workers whose pods run (CalculateAvailableReplicas)
    conditions: tuple[Condition, ...] = ()


class RayCluster(Object):
    """A Ray cluster that runs until it is deleted."""

    spec: RayClusterSpec = RayClusterSpec()
    status: RayClusterStatus = RayClusterStatus()

    def __post_init__(self) -> None:
        share_struct(self, "spec")


class RayJobSpec(View, gc=True, weakref=True):
    """The Ray cluster of a job, and how the job is submitted to it."""

    ray_cluster_spec: RayClusterSpec | None = None
    submission_mode: str = "K8sJobMode"
    submitter_pod_template: Template = NO_TEMPLATE
    suspend: bool = False
    shutdown_after_job_finishes: bool = False
    cluster_selector: dict[str, str] = {}
    deletion_strategy: dict[str, Any] | None = None
    managed_by: str = KUBERAY_OPERATOR
    submitter_config: dict[str, Any] | None = None
    backoff_limit: int | None = None
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None
    pre_running_deadline_seconds: int | None = None
    metadata: dict[str, str] = {}

    def __post_init__(self) -> None:
        own = own_template(self.submitter_pod_template)
        msgspec.structs.force_setattr(self, "submitter_pod_template", own)
        for name in ("cluster_selector", "metadata"):  # only whether they are empty matters
            keep_entries(self, name, tuple(getattr(self, name))[:1])
        share_maps(self, "cluster_selector", "metadata")
        share_strings(self, "submission_mode", "managed_by")

    @property
    def has_submitter_template(self) -> bool:
        """Returns whether the spec contains the template of the submitter's pod."""
        return bytes(self.submitter_pod_template) not in (b"{}", b"null")


class RayJobStatus(View):
    """The state of a job in Ray and of its deployment."""

    job_status: str = ""
    job_deployment_status: str = ""
    end_time: str = ""
    ray_cluster_name: str = ""
    ray_cluster_status: RayClusterStatus = RayClusterStatus()
    message: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        share_strings(self, "job_status", "job_deployment_status")


class RayJob(Object):
    """A Ray cluster for one job."""

    spec: RayJobSpec = RayJobSpec()
    status: RayJobStatus = RayJobStatus()

    def __post_init__(self) -> None:
        share_struct(self, "spec")


class RayServiceSpec(View):
    """The Ray cluster of a service, and its upgrades."""

    ray_cluster_config: RayClusterSpec = RayClusterSpec()
    suspend: bool = False  # since v1.7.0
    serve_service: dict[str, Any] | None = None
    upgrade_strategy: UpgradeStrategy = UpgradeStrategy()
    managed_by: str = KUBERAY_OPERATOR
    ray_cluster_deletion_delay_seconds: int | None = None


class RayServiceStatus(View):
    """The conditions of a service."""

    conditions: tuple[Condition, ...] = ()
    observed_generation: int = 0


class RayService(Object):
    """A Ray cluster that serves HTTP, and is replaced in upgrades."""

    spec: RayServiceSpec = RayServiceSpec()
    status: RayServiceStatus = RayServiceStatus()
