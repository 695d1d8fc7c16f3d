"""Finds pod specs in the kinds of Kubernetes and Ray."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from policies.reading import pick
from policies.rule import Resource

TEMPLATE = "spec.template.spec"
_RAY_CLUSTER = ("headGroupSpec.template.spec", "workerGroupSpecs.*.template.spec")

# Paths of pod specs by kind; `*` means each entry of a list.
POD_SPECS: Mapping[str, tuple[str, ...]] = {
    "kubernetes:core:Pod": ("spec",),
    "kubernetes:core:PodTemplate": ("template.spec",),
    "kubernetes:core:ReplicationController": (TEMPLATE,),
    "kubernetes:apps:DaemonSet": (TEMPLATE,),
    "kubernetes:apps:Deployment": (TEMPLATE,),
    "kubernetes:apps:ReplicaSet": (TEMPLATE,),
    "kubernetes:apps:StatefulSet": (TEMPLATE,),
    "kubernetes:batch:CronJob": ("spec.jobTemplate.spec.template.spec",),
    "kubernetes:batch:Job": (TEMPLATE,),
    "kubernetes:ray.io:RayCluster": tuple(f"spec.{path}" for path in _RAY_CLUSTER),
    "kubernetes:ray.io:RayJob": (
        *(f"spec.rayClusterSpec.{path}" for path in _RAY_CLUSTER),
        "spec.submitterPodTemplate.spec",
    ),
    "kubernetes:ray.io:RayService": tuple(f"spec.rayClusterConfig.{path}" for path in _RAY_CLUSTER),
}


class LocatedPodSpec(NamedTuple):
    """A pod spec, and its path in the resource."""

    path: str
    spec: Any


def pods(resource: Resource) -> Iterator[LocatedPodSpec]:
    """Yields every pod spec of a resource of one of the kinds above."""
    for path in POD_SPECS[resource.kind]:
        lists, _, below = path.rpartition(".*.")
        if not lists:
            if (spec := pick(resource.props, *path.split("."))) is not None:
                yield LocatedPodSpec(path, spec)
            continue
        for i, entry in enumerate(pick(resource.props, *lists.split(".")) or ()):
            yield LocatedPodSpec(f"{lists}[{i}].{below}", pick(entry, *below.split(".")))


def containers(pod: LocatedPodSpec) -> Iterator[tuple[str, Any]]:
    """Yields the containers of a pod, including init containers, each with its path in the resource."""
    for key in ("initContainers", "containers"):
        for i, container in enumerate(pick(pod.spec, key) or ()):
            yield f"{pod.path}.{key}[{i}]", container
