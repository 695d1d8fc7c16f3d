"""Whether the pods of a pod set may run on a flavor's nodes: labels and taints.

As Kueue's pkg/scheduler/flavorassigner does it: of what a pod set asks of a node only the keys
that the flavor itself labels count, the rest is left to the Kubernetes scheduler.
"""

from muster.admission.model import Flavor, PodSet, Requirement, Taint, TaintEffect, Toleration


def mismatch(pod_set: PodSet, flavor: Flavor) -> str | None:
    """Why the pods can not run there, as the end of a sentence about the flavor; None if they can."""
    for taint in flavor.taints:
        if taint.effect is not TaintEffect.PREFER_NO_SCHEDULE and not any(
            _tolerates(toleration, taint) for toleration in (*pod_set.tolerations, *flavor.tolerations)
        ):
            return f"has the taint {taint.key}={taint.value}:{taint.effect}, which is not tolerated"
    for key, wanted in sorted(pod_set.node_selector.items()):
        if key in flavor.node_labels and flavor.node_labels[key] != wanted:
            return f"has the label {key}={flavor.node_labels[key]} where {wanted} is asked for"
    if not _affinity_allows(pod_set, flavor):
        return "has labels that the node affinity excludes"
    return None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """As k8s.io/api/core/v1/toleration.go: an empty operator means Equal."""
    if toleration.effect not in (None, taint.effect):
        return False
    if toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def _affinity_allows(pod_set: PodSet, flavor: Flavor) -> bool:
    """Any term suffices; one that says nothing about the flavor's labels allows it."""
    terms = [
        [requirement for requirement in term if requirement.key in flavor.node_labels]
        for term in pod_set.affinity
    ]
    return not terms or any(
        all(_holds(requirement, flavor.node_labels[requirement.key]) for requirement in term)
        for term in terms
    )


def _holds(requirement: Requirement, label: str) -> bool:
    """For a label that is there. A Gt or Lt that compares no integers does not hold."""
    match requirement.operator:
        case "In":
            return label in requirement.values
        case "NotIn":
            return label not in requirement.values
        case "Exists":
            return True
        case "Gt" | "Lt":
            try:
                actual, bound = int(label), int(requirement.values[0])
            except ValueError:
                return False
            return actual > bound if requirement.operator == "Gt" else actual < bound
    return False  # DoesNotExist
