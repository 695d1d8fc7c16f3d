"""Whether the pods of a pod set may run on a flavor's nodes: labels, taints and sizes.

As Kueue's pkg/scheduler/flavorassigner does it: of what a pod set asks of a node only the keys
that the flavor itself labels count, the rest is left to the Kubernetes scheduler. The
sizes of nodes are a rule of Muster's own.
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
    """One thing that keeps pods from a flavor's nodes; `key` is that of the taint or the label."""

    cause: ExclusionCause
    message: str  # the end of a sentence about the flavor
    key: str = ""


def mismatch(pod_set: PodSet, flavor: Flavor) -> str | None:
    """Why the pods can not run there, as the end of a sentence about the flavor; None if they can."""
    return " and ".join(of.message for of in mismatches(pod_set, flavor)) or None


def mismatches(pod_set: PodSet, flavor: Flavor) -> Iterator[Mismatch]:
    """All that has to be changed before the pods can run there."""
    tolerations = (*pod_set.tolerations, *flavor.tolerations)
    for taint in flavor.taints:
        if taint.effect is not TaintEffect.PREFER_NO_SCHEDULE and not any(
            tolerates(toleration, taint) for toleration in tolerations
        ):
            text = f"has the taint {taint.key}={taint.value}:{taint.effect}, which is not tolerated"
            yield Mismatch(ExclusionCause.TAINT, text, taint.key)
    for key, wanted in sorted(pod_set.node_selector.items()):
        if key in flavor.node_labels and flavor.node_labels[key] != wanted:
            text = f"has the label {key}={flavor.node_labels[key]} where {wanted} is asked for"
            yield Mismatch(ExclusionCause.NODE_SELECTOR, text, key)
    if not _affinity_allows(pod_set, flavor):
        yield Mismatch(ExclusionCause.NODE_AFFINITY, "has labels that the node affinity excludes")
    yield from _too_large(pod_set.requests, flavor.node_sizes)


def _too_large(requests: Resources, sizes: Sequence[Resources]) -> Iterator[Mismatch]:
    """Resources of which a pod asks for more than any node has; if there is none, but no node has enough of
    all, the pod as a whole. Resources that a size does not list do not count."""
    if not sizes or any(_lacking(requests, size) == [] for size in sizes):
        return
    never = set.intersection(*({*_lacking(requests, size)} for size in sizes))
    for resource in sorted(never):
        most = quantities.format(resource, max(size[resource] for size in sizes))
        asked = quantities.format(resource, requests[resource])
        text = f"has {most} {resource} for pods on its largest node where a pod asks for {asked}"
        yield Mismatch(ExclusionCause.NODE_SIZE, text, resource)
    if not never:
        lacking = {resource for size in sizes for resource in _lacking(requests, size)}
        pod = " and ".join(f"{quantities.format(name, requests[name])} {name}" for name in sorted(lacking))
        yield Mismatch(ExclusionCause.NODE_SIZE, f"has no node where a pod with {pod} fits", min(lacking))


def _lacking(requests: Resources, size: Resources) -> list[str]:
    return [name for name, amount in requests.items() if amount > size.get(name, amount)]


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the taint is tolerated (k8s.io/api/core/v1/toleration.go): an empty operator means Equal, an
    empty key any."""
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
    """Whether a term allows the flavor; one that says nothing about its labels does."""
    terms = [
        [requirement for requirement in term if requirement.key in flavor.node_labels]
        for term in pod_set.affinity
    ]
    return not terms or any(
        all(holds(requirement, flavor.node_labels[requirement.key]) for requirement in term) for term in terms
    )


def holds(requirement: Requirement, label: str | None) -> bool:
    """Whether a label's value, None where the label is absent, meets the requirement. A Gt or Lt that
    compares no integers does not.

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


def _less(one: str, other: str) -> bool:
    """False where one of them is no integer."""
    return bool(_INTEGER.fullmatch(one) and _INTEGER.fullmatch(other)) and int(one) < int(other)
