"""RayClusters, which run until deleted.

Source: KubeRay v1.6.2 ray-operator/controllers/ray/raycluster_controller.go.
"""

from collections.abc import Mapping
from functools import cached_property

from muster.cluster.jobs import kuberay
from muster.cluster.jobs.gang import HEAD, cluster_templates, ineligibility
from muster.cluster.jobs.job import GangTemplates, JobOutcome, StatusReason
from muster.cluster.jobs.ray_view import RayView, TemplatesBySpec, ray_kind
from muster.kube.kinds import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from muster.objects.meta import find_condition, is_true
from muster.objects.ray import (
    CLUSTER_LABEL,
    GROUP_LABEL,
    HEAD_TYPE,
    NODE_TYPE_LABEL,
    ORIGIN_LABEL,
    ORIGIN_NAME_LABEL,
    RayCluster,
    RayClusterSpec,
)


class RayClusterGang(RayView[RayCluster]):
    """A RayCluster as a gang: the head and its groups of workers."""

    kind = RAY_CLUSTERS

    @property
    def _managed_by(self) -> str:
        return self.obj.spec.managed_by

    @property
    def cluster_spec(self) -> RayClusterSpec:
        return self.obj.spec

    @property
    def _templates(self) -> GangTemplates:
        return _templates(self.obj.spec, self.of_annotations)

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
    def pod_creation_failure(self) -> StatusReason | None:
        """The condition ReplicaFailure, which KubeRay sets with the API server's error."""
        failure = find_condition(self.obj.status.conditions, "ReplicaFailure")
        is_set = failure is not None and failure.status == "True"
        return StatusReason(failure.reason, failure.message) if failure is not None and is_set else None

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
    lambda spec, annotations: cluster_templates(spec, "/spec", annotations)
)


def pod_set_of(labels: Mapping[str, str], cluster: str) -> str | None:
    """Returns the pod set by the labels with which KubeRay finds the cluster's pods (association.go)."""
    if labels.get(CLUSTER_LABEL) != cluster:
        return None
    return HEAD if labels.get(NODE_TYPE_LABEL) == HEAD_TYPE else labels.get(GROUP_LABEL, "")


RAY_CLUSTER = ray_kind(
    RayClusterGang,
    "spec",
    created_by=(RAY_JOBS, RAY_SERVICES),
    origin_label=ORIGIN_LABEL,
    reserved_labels=(ORIGIN_NAME_LABEL, ORIGIN_LABEL),
    pod_set_of=pod_set_of,
    # Includes the clusters of RayJobs, and of RayServices: two while one replaces the other.
    objects_max=7000,
    endless=True,
)
