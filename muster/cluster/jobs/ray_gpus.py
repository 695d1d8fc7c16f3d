"""The GPUs that Ray schedules on the pods of a Ray cluster.

KubeRay passes `num-gpus` to `ray start` from rayStartParams, from the group's resources, or from the limits
of the first container. Claims of devices are not among them (KubeRay#3527). Source: KubeRay
ray-operator/controllers/ray/common/pod.go and utils/resources.go at v1.6.2.
"""

import re
from collections.abc import Iterator

from muster.cluster.jobs.gang import HEAD
from muster.objects.derived import Derived
from muster.objects.pods import read_template
from muster.objects.ray import RayClusterSpec, RayGroup

NUM_GPUS = "num-gpus"
_MIG = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb$")


def is_gpu(resource: str) -> bool:
    """Returns whether KubeRay takes the resource for GPUs (IsGPUResourceKey)."""
    return resource.endswith("gpu") or _MIG.search(resource) is not None


@Derived
def pod_sets_without_gpus(spec: RayClusterSpec) -> frozenset[str]:
    """Returns the pod sets of the head and of worker groups for whose pods nothing sets a number of GPUs."""
    return frozenset(name for name, group in _groups(spec) if not _has_number(group))


def _groups(spec: RayClusterSpec) -> Iterator[tuple[str, RayGroup]]:
    yield HEAD, spec.head_group_spec
    for group in spec.worker_group_specs:
        yield group.group_name, group


def _has_number(group: RayGroup) -> bool:
    containers = read_template(group.template).spec.containers
    limits = containers[0].resources.limits if containers else {}
    own = map(str.lower, group.resources)
    return NUM_GPUS in group.ray_start_params or any(map(is_gpu, (*own, *limits)))
