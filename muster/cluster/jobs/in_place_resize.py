"""Pods that Ray's autoscaler resizes in place: quota is reserved for the largest size of each.

Ray's autoscaler v2 reads the maximum of each group from an annotation of the RayCluster, which KubeRay copies
from a RayJob or RayService, and raises the requests and limits of the first container up to it. Source: Ray
python/ray/autoscaler/v2/instance_manager/cloud_providers/kuberay/ippr_provider.py and v2/schema.py
(Ray#55961, Ray 2.56).
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from muster.admission import QuantityError
from muster.admission.quantities import exact
from muster.objects.meta import View
from muster.objects.names import RESIZE_MAXIMA
from muster.objects.pods import Template, encode_template, read_template
from muster.objects.ray import RayClusterSpec, RayGroup

ANNOTATION = "ray.io/ippr"
HEAD_GROUP = "headgroup"  # the head, in the annotation
Maxima = Mapping[str, str]
"""The largest quantity of `cpu` and `memory` of a group's first container; empty if it is not resized."""
NO_MAXIMA: Maxima = {}


class _Group(View, rename="kebab"):
    max_cpu: str | int | float
    max_memory: str | int
    resize_timeout: int


class _Specs(View):
    groups: dict[str, _Group] = {}


def maxima_of(annotation: str) -> Mapping[str, Maxima]:
    """Returns the maxima by the names of the groups. Raises: ValueError (including msgspec's errors and
    QuantityError)."""
    specs = msgspec.json.decode(annotation, type=_Specs) if annotation else _Specs()
    maxima = {
        name: {"cpu": str(group.max_cpu), "memory": str(group.max_memory)}
        for name, group in specs.groups.items()
    }
    for of_group in maxima.values():
        for resource, quantity in of_group.items():
            exact(resource, quantity)
    return maxima


def readable_maxima(spec: RayClusterSpec, annotation: str) -> Mapping[str, Maxima]:
    """Returns the maxima by the names of the groups; none if the cluster is not autoscaled, or if they are
    unreadable, which `resize_faults` reports."""
    if spec.enable_in_tree_autoscaling:
        with suppress(ValueError):
            return maxima_of(annotation)
    return {}


def at_maximum(template: Template, maxima: Maxima) -> Template:
    """Returns the template with the resources of its first container raised to the maxima, and with
    annotations by which a policy lets its pods grow up to them. Returns it unchanged if its own quantities
    are unreadable, for which it is not admitted."""
    whole: dict[str, Any] = msgspec.json.decode(template)
    containers = (whole.get("spec") or {}).get("containers")
    if not containers:
        return template
    resources = {field: dict(of) for field, of in (containers[0].get("resources") or {}).items() if of}
    requests = resources.get("requests", {})
    try:
        raised = [r for r in maxima if _is_less(r, requests, maxima)]
        of_limits = [r for r in raised if _is_less(r, resources.get("limits", {}), maxima)]
    except QuantityError:
        return template
    if not raised:
        return template
    requests |= {r: maxima[r] for r in raised}
    if of_limits:
        resources["limits"] |= {r: maxima[r] for r in of_limits}
    metadata = whole.get("metadata") or {}
    annotations = (metadata.get("annotations") or {}) | {RESIZE_MAXIMA[r]: maxima[r] for r in raised}
    whole["metadata"] = {**metadata, "annotations": annotations}
    first = {**containers[0], "resources": resources}
    whole["spec"] = {**whole["spec"], "containers": [first, *containers[1:]]}
    return encode_template(whole)


def _is_less(resource: str, quantities: Mapping[str, str | int | float], maxima: Maxima) -> bool:
    """Returns whether there is a quantity of the resource that is less than its maximum. Raises:
    QuantityError."""
    return resource in quantities and exact(resource, quantities[resource]) < exact(
        resource, maxima[resource]
    )


def resize_faults(spec: RayClusterSpec, annotations: Mapping[str, str]) -> Iterator[str]:
    """Yields what makes Ray's autoscaler refuse the annotation, so that it would not scale the cluster."""
    annotation = annotations.get(ANNOTATION, "")
    if not (annotation and spec.enable_in_tree_autoscaling):
        return
    try:
        maxima = maxima_of(annotation)
    except ValueError as error:
        yield (
            f"annotation {ANNOTATION}: {error}: expected JSON with max-cpu, max-memory and resize-timeout "
            'for each group, such as {"groups": {"gpu": {"max-cpu": "4", "max-memory": "8Gi", '
            '"resize-timeout": 60}}}'
        )
        return
    groups: dict[str, RayGroup] = {group.group_name: group for group in spec.worker_group_specs}
    groups[HEAD_GROUP] = spec.head_group_spec
    for name in maxima.keys() & groups.keys():
        yield from _group_faults(name, groups[name])


def _group_faults(name: str, group: RayGroup) -> Iterator[str]:
    where = f"group {name!r}, which annotation {ANNOTATION} resizes"
    for parameter in ("num-cpus", "memory"):
        if parameter in group.ray_start_params:
            yield f"{where}: Ray takes its {parameter} from the pod: remove it from rayStartParams"
    containers = read_template(group.template).spec.containers
    for resource in ("cpu", "memory"):
        if containers and resource not in containers[0].resources.requests:
            yield f"{where}: its first container needs a request for {resource}, its smallest size"
