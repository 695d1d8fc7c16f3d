"""Heads that are refused before any flavor is looked at."""

from collections.abc import Mapping

from muster.admission.cycle.entry import Outcome
from muster.admission.model import CheckState, ClusterQueue, LabelSelector, Workload
from muster.admission.nodes import holds

Labels = Mapping[str, str]
_FAILED = frozenset({CheckState.RETRY, CheckState.REJECTED})


def refusal(workload: Workload, queue: ClusterQueue, namespaces: Mapping[str, Labels]) -> Outcome | None:
    """None if the head may be nominated (Kueue: nominate, ValidateAdmissibility)."""
    if workload.checks and failed_checks(workload):
        return Outcome.CHECK_FAILED
    selector = queue.namespaces
    if selector is None or (
        selector.requirements and not selects(selector, namespaces.get(workload.namespace, {}))
    ):
        return Outcome.WRONG_NAMESPACE
    return Outcome.REFUSED if workload.refused else None


def failed_checks(workload: Workload) -> list[str]:
    return [name for name, state in workload.checks.items() if state in _FAILED]


def selects(selector: LabelSelector, labels: Labels) -> bool:
    return all(holds(of, labels.get(of.key)) for of in selector.requirements)
