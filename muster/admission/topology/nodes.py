"""Matches pods with leaves: taints, node selectors and node affinity.

If the lowest level is not the hostname, all leaves match, and kube-scheduler selects nodes.
Source: Kueue's scheduling_simulator_default.go.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from muster.admission.model import Node, PodSet, PreferredTerm, Requirement, Taint, TaintEffect, Toleration
from muster.admission.nodes import holds, tolerates
from muster.admission.topology.domains import Leaf


@dataclass(frozen=True, slots=True)
class NodeDemand:
    """The constraints of pods on nodes, except capacity; matches are cached by it."""

    selector: tuple[tuple[str, str], ...]
    affinity: tuple[tuple[Requirement, ...], ...]  # any of (all of)
    preferred: tuple[PreferredTerm, ...]
    tolerations: tuple[Toleration, ...]

    @staticmethod
    def of(pod_set: PodSet, tolerations: tuple[Toleration, ...], preferences: bool) -> "NodeDemand":
        """Returns the demand of a pod set; admission adds the flavor's `tolerations` to its pods."""
        return NodeDemand(
            tuple(sorted(pod_set.node_selector.items())),
            pod_set.affinity,
            pod_set.affinity_preferred if preferences else (),
            (*pod_set.tolerations, *tolerations),
        )


@dataclass(slots=True)
class Matches:
    """`scores` are the total weights of preferred terms, by rank of matching leaves; the other fields count
    excluded leaves by cause."""

    scores: dict[int, int] = field(default_factory=dict)
    selector: int = 0
    affinity: int = 0
    taints: dict[str, int] = field(default_factory=dict)


def match(demand: NodeDemand, leaves: Iterable[Leaf]) -> Matches:
    """Matches the pods with each node, by taints, selectors and affinity; counts the nodes that each
    excludes."""
    matches = Matches()
    for leaf in leaves:
        node = leaf.node
        if node is None:
            matches.scores[leaf.rank] = 0
        elif (taint := untolerated(node.taints, demand.tolerations)) is not None:
            name = _taint_name(taint)
            matches.taints[name] = matches.taints.get(name, 0) + 1
        elif any(node.labels.get(key) != value for key, value in demand.selector):
            matches.selector += 1
        elif demand.affinity and not any(_all_hold(term, node.labels) for term in demand.affinity):
            matches.affinity += 1
        else:
            matches.scores[leaf.rank] = _score(demand.preferred, node)
    return matches


def untolerated(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """Returns the first taint with NoSchedule or NoExecute that is not tolerated."""
    for taint in taints:
        if taint.effect is not TaintEffect.PREFER_NO_SCHEDULE and not any(
            tolerates(toleration, taint) for toleration in tolerations
        ):
            return taint
    return None


def _score(preferred: tuple[PreferredTerm, ...], node: Node) -> int:
    return sum(term.weight for term in preferred if _all_hold(term.requirements, node.labels))


def _all_hold(requirements: tuple[Requirement, ...], labels: Mapping[str, str]) -> bool:
    """Returns whether a term matches; an empty term never does.

    Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity."""
    return bool(requirements) and all(
        holds(requirement, labels.get(requirement.key)) for requirement in requirements
    )


def _taint_name(taint: Taint) -> str:
    """Formats a taint as k8s.io/api/core/v1/taint.go does."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"
