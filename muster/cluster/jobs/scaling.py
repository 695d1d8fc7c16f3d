"""The sizes between which Ray's autoscaler scales the worker groups of a job.

A gang is admitted with `minReplicas` of each group; the replicas above that are its surplus. While the gang
holds quota, Muster sets `maxReplicas` of its RayCluster to what the autoscaler may create now, so the user's
values are stored with its Workload (SIZES_ANNOTATION).
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Annotated

import msgspec

from muster.cluster.jobs.gang import PodSetTemplate
from muster.objects.kueue import Workload
from muster.objects.meta import View
from muster.objects.names import SIZES_ANNOTATION
from muster.objects.ray import RayClusterSpec

CACHED_MAX = 8192
REPLICAS_MAX = 2**31 - 1  # the CRD's default of maxReplicas
PODS_MAX = 5000  # of a group, as the pods of a namespace are limited as well


class GroupSizes(View):
    """The sizes of a worker group in replicas, each of which has `num_of_hosts` pods."""

    min_replicas: Annotated[int, msgspec.Meta(ge=0)] = 0
    max_replicas: int = REPLICAS_MAX
    replicas: int = 0
    num_of_hosts: Annotated[int, msgspec.Meta(ge=1)] = 1

    @property
    def minimum(self) -> int:
        """The pods of the gang."""
        return self.min_replicas * self.num_of_hosts

    def asked(self, replicas: int) -> int:
        """Returns the pods of these replicas, within the user's limits."""
        largest = min(self.max_replicas, PODS_MAX // self.num_of_hosts)
        return max(self.min_replicas, min(replicas, largest)) * self.num_of_hosts


Sizes = Mapping[str, GroupSizes]
"""Sizes by the name of the worker group."""


def sizes_of(spec: RayClusterSpec) -> dict[str, GroupSizes]:
    """Returns the sizes of the groups that the autoscaler scales; empty for a cluster of a fixed size."""
    if not spec.enable_in_tree_autoscaling:
        return {}
    return {
        group.group_name: GroupSizes(
            min_replicas=max(group.min_replicas or 0, 0),
            max_replicas=REPLICAS_MAX if group.max_replicas is None else group.max_replicas,
            replicas=group.replicas or 0,
            num_of_hosts=group.hosts,
        )
        for group in spec.worker_group_specs
        if not group.suspend
    }


def workers(count: int) -> str:
    """Returns a number of workers with its noun."""
    return f"{count} worker{'s' if count != 1 else ''}"


def annotation(sizes: Sizes) -> str:
    """Returns the value of SIZES_ANNOTATION."""
    return msgspec.json.encode(sizes, order="sorted").decode()


def stored_sizes(workload: Workload) -> Sizes:
    """Returns the sizes stored with a Workload; empty for a gang of a fixed size, or if they are unreadable:
    administrators may edit the annotation, and one Workload must not stop the controller."""
    text = workload.metadata.annotations.get(SIZES_ANNOTATION)
    return _decoded(text) if text else {}


@lru_cache(CACHED_MAX)  # read several times in each pass
def _decoded(text: str) -> Sizes:
    with suppress(msgspec.DecodeError):  # including ValidationError
        return msgspec.json.decode(text, type=dict[str, GroupSizes])
    return {}


def cap_operations(
    templates: tuple[PodSetTemplate, ...], current: Sizes, caps: Mapping[str, int]
) -> Iterator[dict[str, object]]:
    """Yields JSON patch operations that set `maxReplicas` of these groups where it differs."""
    for entry in templates:
        group, cap = current.get(entry.pod_set), caps.get(entry.pod_set)
        if group is not None and cap is not None and group.max_replicas != cap:
            pointer = entry.pointer.removesuffix("/template")
            yield {"op": "add", "path": f"{pointer}/maxReplicas", "value": cap}
