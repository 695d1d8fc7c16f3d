"""Restricts a pod template to the topology domains of its admission.

Kueue gates every pod and assigns it to a domain (pkg/controller/tas/topology_ungater.go). Here all pods of a
pod set share one template: each pod may run in any domain of the set, and the Kubernetes scheduler decides
how many run in each. The result is the same if each pod fills its node, as with TPUs or NVLink.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

from muster.admission import TopologyAssignment
from muster.objects.names import PLACED_ANNOTATIONS, UNCONSTRAINED_TOPOLOGY

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def placement_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Returns the annotation with which Kueue and Muster count these pods by their admission, not by their
    nodes; empty if the template has such an annotation already."""
    return {} if not PLACED_ANNOTATIONS.isdisjoint(annotations) else {UNCONSTRAINED_TOPOLOGY: "true"}


def shared_labels(assigned: TopologyAssignment) -> dict[str, str]:
    """Returns the node labels that all domains have in common."""
    columns = zip(*(domain.values for domain in assigned.domains), strict=True)
    return {
        key: values[0] for key, values in zip(assigned.levels, columns, strict=False) if len(set(values)) == 1
    }


def confined(affinity: Mapping[str, Any], assigned: TopologyAssignment) -> Mapping[str, Any]:
    """Returns the affinity with the domains added to each of its node selector terms."""
    terms = _terms(assigned)
    if not terms:
        return affinity
    node_affinity = affinity.get("nodeAffinity") or {}
    user_terms = (node_affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    combined = [
        {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), *requirements]}
        for term, requirements in product(user_terms, terms)
    ]
    return {**affinity, "nodeAffinity": {**node_affinity, _REQUIRED: {"nodeSelectorTerms": combined}}}


def _terms(assigned: TopologyAssignment) -> list[list[dict[str, Any]]]:
    """Returns alternatives, each a list of requirements; none if the shared labels identify the domains
    already."""
    if not assigned.domains:
        return []
    shared = shared_labels(assigned)
    differing = [index for index, key in enumerate(assigned.levels) if key not in shared]
    if len(differing) == 1:
        (index,) = differing
        return [[_in(assigned.levels[index], *sorted({domain.values[index] for domain in assigned.domains}))]]
    distinct = {
        tuple((assigned.levels[i], domain.values[i]) for i in differing) for domain in assigned.domains
    }
    return [[_in(key, value) for key, value in labels] for labels in sorted(distinct) if labels]


def _in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}
