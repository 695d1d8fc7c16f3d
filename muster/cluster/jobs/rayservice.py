"""RayServices. Source: KubeRay ray-operator/controllers/ray/rayservice_controller.go at v1.6.2 and v1.7.0.

KubeRay 1.6 propagates rayClusterConfig.suspend to the existing RayCluster of the service. The service's own
status is unreliable then: without a head pod KubeRay does not update it (updateHeadPodServeLabel), so Ready
and observedGeneration may be stale. Therefore the RayClusters are read.

KubeRay 1.7 deletes the RayCluster if spec.suspend is set, a field that 1.6 lacks (handleSuspend), and creates
a new one when the service is resumed. It reads rayClusterConfig.suspend only when it creates a RayCluster
(modifyRayCluster). Muster always writes both fields, so it needs not know the version.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from muster.cluster.jobs import kuberay
from muster.cluster.jobs.gang import cluster_templates, ineligibility
from muster.cluster.jobs.job import GangTemplates, JobOutcome, JobView, Service, StatusReason
from muster.cluster.jobs.ray_services import serve_service
from muster.cluster.jobs.ray_view import RayView, TemplatesBySpec, ray_kind
from muster.kube.kinds import RAY_SERVICES
from muster.objects.meta import find_condition, is_true
from muster.objects.ray import VERSION_ANNOTATION, RayClusterSpec, RayService

_CLUSTER = "/spec/rayClusterConfig"
UPGRADE_REMEDY = (
    "set spec.upgradeStrategy.type to None. Upgrade in place, or with a RayService of another name, which "
    "waits for its own quota while this one serves"
)
_DELETES_SUSPENDED_CLUSTERS = (1, 7)  # the first version of KubeRay with spec.suspend


class RayServiceGang(RayView[RayService]):
    """The view of a RayService; `clusters` are the RayClusters that KubeRay created for it."""

    kind = RAY_SERVICES
    suspend_pointers = (f"{_CLUSTER}/suspend", "/spec/suspend")

    def __init__(self, obj: RayService, *clusters: JobView[Any]) -> None:
        super().__init__(obj)
        self._clusters = clusters

    @property
    def _managed_by(self) -> str:
        return self.obj.spec.managed_by

    @property
    def cluster_spec(self) -> RayClusterSpec:
        return self.obj.spec.ray_cluster_config

    def services(self) -> Iterator[tuple[str, Service]]:
        yield from super().services()
        if self.obj.spec.serve_service is not None:
            yield "spec.serveService", serve_service(self.obj.spec.serve_service)

    @property
    def _templates(self) -> GangTemplates:
        return _templates(self.cluster_spec, self.of_annotations)

    @property
    def suspension_obstacle(self) -> StatusReason | None:
        """Includes an invalid spec: KubeRay ignores such a service, and does not change its RayClusters
        (Reconcile)."""
        ready = find_condition(self.obj.status.conditions, "Ready")
        if ready is not None and ready.reason == "ValidationFailed":
            return StatusReason("ValidationFailed", f"was rejected by KubeRay ({ready.message})")
        return super().suspension_obstacle

    @property
    def kuberay_rejection(self) -> StatusReason | None:
        """The rejection; None if a cluster runs, as the service keeps serving, and KubeRay continues once the
        spec is corrected. Checks the spec itself, as the reason ValidationFailed stays after a correction
        until the service is ready."""
        if self._fault is None or any(cluster.running for cluster in self._clusters):
            return None
        return StatusReason("InvalidSpec", f"is rejected by KubeRay: {self._fault}")

    @cached_property
    def _fault(self) -> str | None:
        return kuberay.service_fault(self.metadata, self.obj.spec)

    @property
    def suspended(self) -> bool:
        """With KubeRay 1.7, rayClusterConfig.suspend alone does not suspend a service that has a cluster."""
        spec = self.obj.spec
        if spec.suspend or not spec.ray_cluster_config.suspend:
            return spec.suspend
        return not any(map(_keeps_its_suspension, self._clusters))

    @property
    def reported_stopped(self) -> bool:
        return all(cluster.suspended_and_stopped for cluster in self._clusters)

    @property
    def ready_to_start(self) -> bool:
        """False until KubeRay 1.7 has deleted the clusters of a suspended service: it would keep a cluster
        that Muster suspended itself, with its old placement."""
        return not (self.obj.spec.suspend and self._clusters)

    @property
    def start_observed(self) -> bool:
        return self.suspended or any(not cluster.suspended for cluster in self._clusters)

    @property
    def reports_running(self) -> bool:
        return is_true(self.obj.status.conditions, "Ready")

    @property
    def running(self) -> bool:
        return self.reports_running and any(c.running and not c.suspended for c in self._clusters)

    @property
    def outcome(self) -> JobOutcome | None:
        """A service ends only if it has a timeout for becoming ready and exceeds it: KubeRay then deletes its
        clusters and does nothing more."""
        ready = find_condition(self.obj.status.conditions, "Ready")
        if ready is None or ready.reason != "InitializingTimeout":
            return None
        return JobOutcome(False, ready.message)

    @property
    def ineligibility(self) -> str | None:
        service = self.obj
        strategy = service.spec.upgrade_strategy.type
        if strategy != "None":
            return (
                f"KubeRay upgrades a RayService with a second cluster (strategy {strategy or 'NewCluster'}), "
                f"but the gang has quota for one: {UPGRADE_REMEDY}"
            )
        ready = find_condition(service.status.conditions, "Ready")
        # The reason stays until the service is ready, even after the spec is corrected.
        is_observed = service.status.observed_generation == service.metadata.generation
        if ready is not None and ready.reason == "ValidationFailed" and not is_observed:
            return f"KubeRay rejected the RayService ({ready.message}): correct and recreate it"
        return ineligibility(service.spec.ray_cluster_config, _CLUSTER, self.pod_set_templates) or self._fault


def _keeps_its_suspension(cluster: JobView[Any]) -> bool:
    """Returns whether KubeRay ignores rayClusterConfig.suspend of the service once the cluster exists."""
    version = cluster.metadata.annotations.get(VERSION_ANNOTATION, "")
    return kuberay.version_numbers(version) >= _DELETES_SUSPENDED_CLUSTERS


_templates = TemplatesBySpec[RayClusterSpec](
    lambda spec, annotations: cluster_templates(spec, _CLUSTER, annotations)
)

RAY_SERVICE = ray_kind(
    RayServiceGang, "spec.rayClusterConfig", reads_dependents=True, endless=True, objects_max=500
)
