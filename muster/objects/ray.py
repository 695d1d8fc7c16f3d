"""KubeRay's RayJob, RayCluster and RayService, `ray.io/v1`: the parts that admission turns on.

Source: KubeRay ray-operator/apis/ray/v1 at v1.6.2.
"""

from typing import Any

import msgspec

from muster.objects.meta import Condition, Object, View
from muster.objects.pods import Template, own_template

CLUSTER_LABEL = "ray.io/cluster"
KUBERAY_OPERATOR = "ray.io/kuberay-operator"
NO_TEMPLATE = Template(b"{}")


class HeadGroup(View):
    template: Template = NO_TEMPLATE

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "template", own_template(self.template))


class WorkerGroup(View):
    group_name: str = ""
    template: Template = NO_TEMPLATE
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    num_of_hosts: int = 1
    suspend: bool = False

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "template", own_template(self.template))

    @property
    def pods(self) -> int:
        """Pods that KubeRay makes for the group (its GetWorkerGroupDesiredReplicas, times the hosts)."""
        if self.suspend:
            return 0
        replicas = max(self.replicas or 0, self.min_replicas or 0)
        if self.max_replicas is not None:
            replicas = min(replicas, self.max_replicas)
        return max(replicas, 0) * max(self.num_of_hosts, 1)


class AutoscalerOptions(View):
    resources: dict[str, Any] | None = None


class RayClusterSpec(View):
    head_group_spec: HeadGroup = HeadGroup()
    worker_group_specs: tuple[WorkerGroup, ...] = ()
    suspend: bool | None = None
    enable_in_tree_autoscaling: bool = False
    autoscaler_options: AutoscalerOptions = AutoscalerOptions()
    managed_by: str = KUBERAY_OPERATOR


class RayClusterStatus(View):
    state: str = ""
    reason: str = ""
    conditions: tuple[Condition, ...] = ()


class RayCluster(Object):
    spec: RayClusterSpec = RayClusterSpec()
    status: RayClusterStatus = RayClusterStatus()


class RayJobSpec(View):
    ray_cluster_spec: RayClusterSpec | None = None
    submission_mode: str = "K8sJobMode"
    submitter_pod_template: Template = NO_TEMPLATE
    suspend: bool = False
    shutdown_after_job_finishes: bool = False
    cluster_selector: dict[str, str] = {}
    deletion_strategy: dict[str, Any] | None = None
    managed_by: str = KUBERAY_OPERATOR

    def __post_init__(self) -> None:
        own = own_template(self.submitter_pod_template)
        msgspec.structs.force_setattr(self, "submitter_pod_template", own)

    @property
    def has_submitter_template(self) -> bool:
        return bytes(self.submitter_pod_template) not in (b"{}", b"null")


class RayJobStatus(View):
    job_status: str = ""
    job_deployment_status: str = ""
    ray_cluster_name: str = ""
    ray_cluster_status: RayClusterStatus = RayClusterStatus()
    message: str = ""
    reason: str = ""


class RayJob(Object):
    spec: RayJobSpec = RayJobSpec()
    status: RayJobStatus = RayJobStatus()


class RayServiceUpgrade(View):
    type: str = ""


class RayServiceSpec(View):
    ray_cluster_config: RayClusterSpec = RayClusterSpec()
    upgrade_strategy: RayServiceUpgrade = RayServiceUpgrade()
    managed_by: str = KUBERAY_OPERATOR


class RayServiceStatus(View):
    conditions: tuple[Condition, ...] = ()
    observed_generation: int = 0


class RayService(Object):
    spec: RayServiceSpec = RayServiceSpec()
    status: RayServiceStatus = RayServiceStatus()
