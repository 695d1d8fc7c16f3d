"""Soft budgets that are used up, and the workloads that rank below all others for it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from muster.admission.model import Budget, FlavorResource, Workload


class UsedUp(NamedTuple):
    """A soft budget that is used up. `message` names its owner, as a clause; `until_ms` is when its usage may
    fall below its limit."""

    budget: Budget
    message: str
    until_ms: int


UsedUpOfQueues = Mapping[str, tuple[UsedUp, ...]]
"""The budgets that are used up, by the ClusterQueues that share each; queues without one are absent."""


def of_pending(used_up: UsedUpOfQueues, workload: Workload) -> UsedUp | None:
    """Returns the budget that a pending workload is over. Its flavor is not decided yet, so a budget of one
    flavor applies to all workloads that request the resource."""
    for budget in used_up.get(workload.cluster_queue, ()) if used_up else ():
        resource = budget.budget.resource
        if any(pod_set.requests.get(resource, 0) * pod_set.count for pod_set in workload.pod_sets):
            return budget
    return None


def of_usage(used_up: UsedUpOfQueues, queue: str, usage: Mapping[FlavorResource, int]) -> UsedUp | None:
    """Returns the budget that a workload with this usage is over."""
    for budget in used_up.get(queue, ()) if used_up else ():
        if _covers(budget.budget, usage.items()):
            return budget
    return None


def _covers(budget: Budget, usage: Iterable[tuple[FlavorResource, int]]) -> bool:
    return any(amount and budget.covers(fr.flavor, fr.resource) for fr, amount in usage)
