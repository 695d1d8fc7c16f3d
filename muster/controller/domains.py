"""What a pod template says so that its pods run on the domains that their admission assigns.

Kueue gates every pod and lets it go to a domain of its own (pkg/controller/tas/topology_ungater.go).
Here all pods of a set share one template: each may go to any of the set's domains, and how many go to
each is up to the Kubernetes scheduler. Where a pod fills its node, as on machines with TPUs or NVLink,
that is the same.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

from muster.admission import TopologyAssignment
from muster.objects.topology import PLACED_ANNOTATIONS, UNCONSTRAINED

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def marks(annotations: Mapping[str, str]) -> dict[str, str]:
    """Annotations to be added, so that all who count what is on a node know that these pods are placed."""
    return {} if not PLACED_ANNOTATIONS.isdisjoint(annotations) else {UNCONSTRAINED: "true"}


def shared_labels(assigned: TopologyAssignment) -> dict[str, str]:
    """Labels of nodes that all domains have in common; all of them where there is one domain."""
    columns = zip(*(domain.values for domain in assigned.domains), strict=True)
    return {
        key: values[0] for key, values in zip(assigned.levels, columns, strict=False) if len(set(values)) == 1
    }


def confined(affinity: Mapping[str, Any], assigned: TopologyAssignment) -> Mapping[str, Any]:
    """The affinity with the domains added to whatever it asks of nodes already."""
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
    """Any of these, all parts of it; none where the labels that all domains share say everything."""
    if not assigned.domains:
        return []
    shared = shared_labels(assigned)
    apart = [index for index, key in enumerate(assigned.levels) if key not in shared]
    if len(apart) == 1:
        (index,) = apart
        return [[_in(assigned.levels[index], *sorted({of.values[index] for of in assigned.domains}))]]
    told = {tuple((assigned.levels[index], of.values[index]) for index in apart) for of in assigned.domains}
    return [[_in(key, value) for key, value in labels] for labels in sorted(told) if labels]


def _in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}
