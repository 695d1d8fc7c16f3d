"""Matches pod sets with the nodes of a flavor: labels, taints and sizes.

As in Kueue's pkg/scheduler/flavorassigner, node selectors and affinity are checked only for label keys of the
flavor; kube-scheduler checks the others. Node sizes are a rule that Kueue does not have.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from muster.admission import quantities
from muster.admission.model import (
    ExclusionCause,
    Flavor,
    PodSet,
    Requirement,
    Resources,
    Taint,
    TaintEffect,
    Toleration,
)

_INTEGER = re.compile("[+-]?[0-9]{1,19}")


class Mismatch(NamedTuple):
    """A reason why pods cannot run on a flavor's nodes; `key` is that of the taint or label, or the
    resource."""

    cause: ExclusionCause
    message: str  # a predicate: the flavor is the subject
    key: str = ""


def mismatch(pod_set: PodSet, flavor: Flavor) -> str | None:
    """Returns why the pods cannot run there, as a predicate of the flavor; None if they can."""
    return " and ".join(reason.message for reason in mismatches(pod_set, flavor)) or None


def mismatches(pod_set: PodSet, flavor: Flavor) -> Iterator[Mismatch]:
    """Yields all reasons why the pods cannot run there."""
    tolerations = (*pod_set.tolerations, *flavor.tolerations)
    for taint in flavor.taints:
        if taint.effect is not TaintEffect.PREFER_NO_SCHEDULE and not any(
            tolerates(toleration, taint) for toleration in tolerations
        ):
            text = f"has the taint {taint.key}={taint.value}:{taint.effect}, which is not tolerated"
            yield Mismatch(ExclusionCause.TAINT, text, taint.key)
    for key, value in sorted(pod_set.node_selector.items()):
        if key in flavor.node_labels and flavor.node_labels[key] != value:
            text = f"has the label {key}={flavor.node_labels[key]}, but the node selector requires {value}"
            yield Mismatch(ExclusionCause.NODE_SELECTOR, text, key)
    if not _affinity_allows(pod_set, flavor):
        yield Mismatch(ExclusionCause.NODE_AFFINITY, "has labels that the node affinity excludes")
    yield from _too_large(pod_set.requests_of_nodes, flavor.node_sizes)


def _too_large(requests: Resources, sizes: Sequence[Resources]) -> Iterator[Mismatch]:
    """Yields the resources of which a pod requests more than any node has. If there is none, but no node has
    enough of all, yields the pod as a whole. Resources that a size omits are not checked."""
    if not sizes or any(_lacking(requests, size) == [] for size in sizes):
        return
    exceeding_all = set.intersection(*({*_lacking(requests, size)} for size in sizes))
    for resource in sorted(exceeding_all):
        largest = quantities.format(resource, max(size[resource] for size in sizes))
        requested = quantities.format(resource, requests[resource])
        text = f"has {largest} {resource} for pods on its largest node, but a pod requests {requested}"
        yield Mismatch(ExclusionCause.NODE_SIZE, text, resource)
    if not exceeding_all:
        lacking = {resource for size in sizes for resource in _lacking(requests, size)}
        pod = " and ".join(f"{quantities.format(name, requests[name])} {name}" for name in sorted(lacking))
        yield Mismatch(ExclusionCause.NODE_SIZE, f"has no node where a pod with {pod} fits", min(lacking))


def _lacking(requests: Resources, size: Resources) -> list[str]:
    return [name for name, amount in requests.items() if amount > size.get(name, amount)]


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Returns whether the taint is tolerated; an empty operator means Equal, an empty key matches all keys.

    Source: k8s.io/api/core/v1/toleration.go."""
    if toleration.effect not in (None, taint.effect) or toleration.key not in ("", taint.key):
        return False
    match toleration.operator:
        case "Exists":
            return True
        case "" | "Equal":
            return toleration.value == taint.value
        case "Lt":
            return _less(taint.value, toleration.value)
        case "Gt":
            return _less(toleration.value, taint.value)
    return False


def _affinity_allows(pod_set: PodSet, flavor: Flavor) -> bool:
    """Returns whether a term matches the flavor; a term without its label keys does."""
    terms = [
        [requirement for requirement in term if requirement.key in flavor.node_labels]
        for term in pod_set.affinity
    ]
    return not terms or any(
        all(holds(requirement, flavor.node_labels[requirement.key]) for requirement in term) for term in terms
    )


def holds(requirement: Requirement, label: str | None) -> bool:
    """Returns whether a label's value (None: no such label) meets the requirement. Gt and Lt are false unless
    both values are integers.

    Source: k8s.io/apimachinery/pkg/labels Requirement.Matches.
    """
    match requirement.operator:
        case "In":
            return label in requirement.values
        case "NotIn":
            return label not in requirement.values
        case "Exists":
            return label is not None
        case "Gt":
            return _less(requirement.values[0], label or "")
        case "Lt":
            return _less(label or "", requirement.values[0])
    return label is None  # DoesNotExist


def _less(left: str, right: str) -> bool:
    """Returns whether left < right; false unless both are integers."""
    return bool(_INTEGER.fullmatch(left) and _INTEGER.fullmatch(right)) and int(left) < int(right)
