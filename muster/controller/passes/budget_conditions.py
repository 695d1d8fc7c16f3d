"""The condition BudgetUsed of ClusterQueues, and events, when 80 % and 100 % of a budget are used."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from msgspec import structs

from muster.admission import BudgetUsage, Enforcement
from muster.cluster.cluster_state import ClusterState
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.passes.queue_status import status_write
from muster.controller.workload.events import ObjectEvent
from muster.kube.kinds import CLUSTER_QUEUES
from muster.objects.kueue_queues import ClusterQueue
from muster.objects.meta import find_condition, rfc3339, set_condition

BUDGET_USED = "BudgetUsed"
NEARLY_USED_PERCENT = 80


class _Level(NamedTuple):
    """A part of a budget; the largest of a queue is reported."""

    percent: int
    reason: str


_LEVELS = (
    _Level(100, "BudgetUsedUp"),
    _Level(NEARLY_USED_PERCENT, "BudgetNearlyUsed"),
    _Level(0, "WithinBudget"),
)


def budget_conditions(
    usages: Iterable[BudgetUsage], cluster: ClusterState, now_ms: int
) -> Iterator[PlannedWrite]:
    """Yields the writes of conditions that changed. A queue reports the most used of its budgets and those of
    the cohorts above it."""
    by_queue: dict[str, list[BudgetUsage]] = defaultdict(list)
    for usage in usages:
        for name in usage.queues:
            by_queue[name].append(usage)
    for name, queue in cluster.cluster_queues.items():
        reported = find_condition(queue.status.conditions, BUDGET_USED)
        level, message = max(map(_report, by_queue[name]), default=(_LEVELS[-1], "It has no budget"))
        # A queue without any condition is new: its status is written first.
        if queue.status.conditions and (level.percent or reported is not None):
            yield from _write(queue, level, message, now_ms)


def _report(usage: BudgetUsage) -> tuple[_Level, str]:
    level = next(of for of in _LEVELS if 100 * usage.used_unit_ms >= of.percent * usage.limit_unit_ms)
    part = f"At least {level.percent} %" if level.percent else f"Less than {NEARLY_USED_PERCENT} %"
    until = "" if usage.budget.rolling else f", until {rfc3339(usage.end_ms)}"
    is_soft = usage.budget.enforcement is Enforcement.SOFT and level is _LEVELS[0]
    effect = ": its workloads take only free quota" if is_soft else ""
    return level, f"{part} of the {usage.description} are used by {usage.owner}{until}{effect}"


def _write(queue: ClusterQueue, level: _Level, message: str, now_ms: int) -> Iterator[PlannedWrite]:
    before = queue.status.conditions
    conditions = set_condition(
        before,
        BUDGET_USED,
        status=level.percent > 0,
        reason=level.reason,
        message=message,
        now_ms=now_ms,
    )
    status = structs.replace(queue.status, conditions=conditions)
    planned = status_write(CLUSTER_QUEUES, queue, queue.status, status)
    event = ObjectEvent(CLUSTER_QUEUES, queue.metadata, level.reason, message, warning=True)
    if planned is not None:
        yield replace(planned, events=(event,) if level.percent else ())
