"""Converts pod sets to the core's values: the requests, node selection and tolerations of their templates."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from muster import admission as core
from muster.objects import kueue
from muster.objects.derived import Derived
from muster.objects.pods import PodTemplate, pod_requests, read_template
from muster.translation import core_nodes


def pod_set(obj: kueue.PodSet, reclaimable: int = 0) -> core.PodSet:
    """Converts a pod set. Raises: ValueError (QuantityError for a request) that names the field."""
    converted = _whole(obj)
    return replace(converted, reclaimable=reclaimable) if reclaimable else converted


@Derived
def _whole(obj: kueue.PodSet) -> core.PodSet:
    template = read_template(obj.template)
    return core.PodSet(
        name=obj.name,
        count=obj.count,
        requests=pod_requests(obj.template),
        node_selector=template.spec.node_selector,
        affinity=_affinity(template),
        affinity_preferred=_preferred(template),
        tolerations=tolerations(template.spec.tolerations),
        count_min=obj.min_count,
        topology=core_nodes.topology_request(obj.topology_request),
    )


def tolerations(raw: Iterable[Mapping[str, Any]]) -> tuple[core.Toleration, ...]:
    """Returns a pod's tolerations with the API's defaults."""
    return tuple(
        core.Toleration(
            key=t.get("key", ""),
            operator=t.get("operator") or "Equal",
            value=t.get("value", ""),
            effect=core.TaintEffect(t["effect"]) if t.get("effect") else None,
        )
        for t in raw
    )


def _affinity(template: PodTemplate) -> tuple[tuple[core.Requirement, ...], ...]:
    node = template.spec.affinity.get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return tuple(_requirements(term) for term in required.get("nodeSelectorTerms") or ())


def _preferred(template: PodTemplate) -> tuple[core.PreferredTerm, ...]:
    node = template.spec.affinity.get("nodeAffinity") or {}
    return tuple(
        core.PreferredTerm(term["weight"], _requirements(term.get("preference") or {}))
        for term in node.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    )


def _requirements(term: Mapping[str, Any]) -> tuple[core.Requirement, ...]:
    return tuple(
        core.Requirement(e["key"], e["operator"], tuple(e.get("values") or ()))
        for e in term.get("matchExpressions") or ()
    )
