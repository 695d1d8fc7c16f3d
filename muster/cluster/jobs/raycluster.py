"""RayClusters, which run until deleted.

Source: KubeRay v1.6.2 ray-operator/controllers/ray/raycluster_controller.go.
"""

from functools import cached_property

from muster.cluster.jobs import kuberay
from muster.cluster.jobs.gang import cluster_templates, ineligibility
from muster.cluster.jobs.job import GangTemplates, JobOutcome, JobView, StatusReason, TemplatesBySpec
from muster.kube.kinds import RAY_CLUSTERS
from muster.objects.meta import is_true
from muster.objects.ray import RayCluster, RayClusterSpec


class RayClusterGang(JobView[RayCluster]):
    kind = RAY_CLUSTERS

    @property
    def _managed_by(self) -> str:
        return self.obj.spec.managed_by

    @property
    def cluster_spec(self) -> RayClusterSpec:
        return self.obj.spec

    @property
    def _templates(self) -> GangTemplates:
        return _templates(self.obj.spec, redis_cleanup=self.has_redis_cleanup)

    @property
    def suspension_obstacle(self) -> StatusReason | None:
        """Includes an invalid spec: KubeRay ignores such a RayCluster, and reports that only in an event."""
        return super().suspension_obstacle or self._rejection

    @property
    def kuberay_rejection(self) -> StatusReason | None:
        """The rejection; None if the cluster was ready before its spec was rejected, as it keeps running."""
        return None if self.running else self._rejection

    @cached_property
    def _rejection(self) -> StatusReason | None:
        fault = kuberay.cluster_fault(self.metadata, self.obj.spec)
        return StatusReason("InvalidSpec", f"is rejected by KubeRay: {fault}") if fault else None

    @property
    def suspended(self) -> bool:
        return bool(self.obj.spec.suspend)

    @property
    def reported_stopped(self) -> bool:
        """Reads the condition, as the state stays `suspended` while a resumed cluster creates its pods. A
        cluster without a status counts as stopped only if it was created suspended and its spec has not
        changed since: otherwise KubeRay may be creating pods for an earlier spec and has not reported it
        yet."""
        status = self.obj.status
        if status.conditions:
            return is_true(status.conditions, "RayClusterSuspended")
        if not status.state:
            return self.suspended and self.metadata.generation <= 1
        return status.state == "suspended"

    @property
    def suspended_and_stopped(self) -> bool:
        """True if the cluster is suspended and has stopped."""
        return self.suspended and self.reported_stopped

    @property
    def running(self) -> bool:
        return self.obj.status.state == "ready"

    @property
    def outcome(self) -> JobOutcome | None:
        return None

    @property
    def ineligibility(self) -> str | None:
        return ineligibility(self.obj.spec, "/spec", self.pod_set_templates) or kuberay.cluster_fault(
            self.metadata, self.obj.spec
        )


_templates = TemplatesBySpec[RayClusterSpec](
    lambda spec, redis_cleanup: cluster_templates(spec, "/spec", redis_cleanup=redis_cleanup)
)
