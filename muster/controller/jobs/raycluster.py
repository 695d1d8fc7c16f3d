"""RayCluster: a gang with no end of its own (ray-operator/controllers/ray/raycluster_controller.go)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from muster.controller.jobs.gang import Place, cluster_places, unfit
from muster.controller.jobs.job import Outcome, in_queue
from muster.kube.kinds import RAY_CLUSTERS, Kind
from muster.objects.meta import ObjectMeta, is_true
from muster.objects.ray import KUBERAY_OPERATOR, RayCluster


@dataclass(frozen=True)
class RayClusterGang:
    obj: RayCluster

    @property
    def kind(self) -> Kind[Any]:
        return RAY_CLUSTERS

    @property
    def metadata(self) -> ObjectMeta:
        return self.obj.metadata

    @property
    def managed(self) -> bool:
        return in_queue(self.obj.metadata) and self.obj.spec.managed_by == KUBERAY_OPERATOR

    @cached_property
    def places(self) -> tuple[Place, ...]:
        return tuple(cluster_places(self.obj.spec, "/spec"))

    @property
    def suspended(self) -> bool:
        return bool(self.obj.spec.suspend)

    @property
    def stopped(self) -> bool:
        """By its condition: the state stays `suspended` while a resumed cluster makes its pods."""
        status = self.obj.status
        if status.conditions:
            return is_true(status.conditions, "RayClusterSuspended")
        return status.state in ("", "suspended")

    @property
    def running(self) -> bool:
        return self.obj.status.state == "ready"

    @property
    def outcome(self) -> Outcome | None:
        return None

    @property
    def refusal(self) -> str | None:
        return unfit(self.obj.spec, self.places)

    @property
    def suspend_pointer(self) -> str:
        # always true or false, never removed: KubeRay leaves a cluster without the field suspended
        return "/spec/suspend"
