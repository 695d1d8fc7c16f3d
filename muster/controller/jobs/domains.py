"""Additions to a pod template that bring its pods to the topology domains of their admission.

Kueue gates every pod and assigns it a domain of its own (pkg/controller/tas/topology_ungater.go). Here all
pods of a pod set share one template: each may run in any of the set's domains, and the Kubernetes scheduler
decides how many run in each. Where a pod fills its node, as with TPUs or NVLink, the result is the same.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

from muster.admission import TopologyAssignment
from muster.objects.topology import PLACED_ANNOTATIONS
from muster.objects.topology_request import UNCONSTRAINED

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def placement_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Returns an annotation by which Kueue, and Muster, count these pods by their admission, not by node."""
    return {} if not PLACED_ANNOTATIONS.isdisjoint(annotations) else {UNCONSTRAINED: "true"}


def shared_labels(assigned: TopologyAssignment) -> dict[str, str]:
    """Returns the node labels that all domains have in common; all labels of a single domain."""
    columns = zip(*(domain.values for domain in assigned.domains), strict=True)
    return {
        key: values[0] for key, values in zip(assigned.levels, columns, strict=False) if len(set(values)) == 1
    }


def confined(affinity: Mapping[str, Any], assigned: TopologyAssignment) -> Mapping[str, Any]:
    """Returns the affinity with the domains added to its own terms for nodes."""
    terms = _terms(assigned)
    if not terms:
        return affinity
    of_nodes = affinity.get("nodeAffinity") or {}
    before = (of_nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    both = [
        {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), *more]}
        for term, more in product(before, terms)
    ]
    return {**affinity, "nodeAffinity": {**of_nodes, _REQUIRED: {"nodeSelectorTerms": both}}}


def _terms(assigned: TopologyAssignment) -> list[list[dict[str, Any]]]:
    """Returns alternatives, each a list of requirements; none if the labels in common say everything."""
    if not assigned.domains:
        return []
    shared = shared_labels(assigned)
    apart = [index for index, key in enumerate(assigned.levels) if key not in shared]
    if len(apart) == 1:
        (index,) = apart
        return [[_in(assigned.levels[index], *sorted({domain.values[index] for domain in assigned.domains}))]]
    distinct = {tuple((assigned.levels[i], domain.values[i]) for i in apart) for domain in assigned.domains}
    return [[_in(key, value) for key, value in labels] for labels in sorted(distinct) if labels]


def _in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}
