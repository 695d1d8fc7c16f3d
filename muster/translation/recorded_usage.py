"""Recorded usage of resources with budgets: in the status of a Workload, and in an annotation of its
ClusterQueues.

Amounts are units times seconds in each hour, by flavor and resource. Times have whole seconds, as in
conditions, so that the record is exact. Hours older than HOURLY_S are merged into days.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from muster import admission as core
from muster.objects.kueue import WorkloadStatus
from muster.objects.kueue_queues import ClusterQueue
from muster.objects.meta import View, find_condition
from muster.objects.names import RECORDED_USAGE

HOUR_S = core.HOUR_MS // 1000
DAYS_MAX = 31
"""The longest rolling period of a budget."""
HOURLY_S = (DAYS_MAX + 1) * 24 * HOUR_S
RETAINED_S = 2 * HOURLY_S  # the current month and the previous one
USAGE_CONDITION = "BudgetUsage"
"""The condition of a Workload whose message contains its usage up to its last release of quota."""

Amounts = Mapping[str, Mapping[str, Mapping[int, int]]]
"""Units times seconds by flavor, resource and start of the hour, in hours since 1970."""
Leaving = dict[str, dict[str, int]]
"""Units by flavor and resource of pods that terminate without quota."""
Held = Iterable[tuple[tuple[str, str], int]]
"""Held units by flavor and resource."""


class WorkloadUsage(View):
    """The usage of a Workload by ClusterQueue, up to a time in seconds since 1970.

    `leaving`: units by flavor and resource of pods that terminate without quota since then, after the gang
    shrank."""

    until: int = 0
    queues: dict[str, dict[str, dict[str, dict[int, int]]]] = {}
    leaving: dict[str, dict[str, int]] = {}


class EndedUsage(View):
    """The usage of a Workload in one queue, written before the Workload releases its quota permanently."""

    until: int
    used: dict[str, dict[str, dict[int, int]]]


class QueueUsage(View):
    """The usage of Workloads that ended in a queue: `ended` by UID, until the end is certain."""

    used: dict[str, dict[str, dict[int, int]]] = {}
    ended: dict[str, EndedUsage] = {}


def of_workload(status: WorkloadStatus) -> WorkloadUsage:
    """Returns the usage that the status of a Workload contains; none if it is unreadable."""
    condition = find_condition(status.conditions, USAGE_CONDITION)
    return _read_workload(condition.message) if condition is not None else _NOTHING


_NOTHING = WorkloadUsage()


@lru_cache(1024)
def _read_workload(message: str) -> WorkloadUsage:
    try:
        return msgspec.json.decode(message, type=WorkloadUsage)
    except ValueError:
        return _NOTHING


def of_queue(queue: ClusterQueue) -> QueueUsage:
    """Returns the usage that the annotation of a ClusterQueue contains; none if it is unreadable."""
    try:
        return msgspec.json.decode(queue.metadata.annotations.get(RECORDED_USAGE, "{}"), type=QueueUsage)
    except ValueError:
        return QueueUsage()


def written(usage: WorkloadUsage | QueueUsage) -> str:
    """Returns the usage as JSON."""
    return msgspec.json.encode(usage).decode()


def of_interval(held: Held, since_s: int, until_s: int) -> Amounts:
    """Returns the usage of these units between two times; none if the clock was set back."""
    hours = {
        hour: min(until_s, (hour + 1) * HOUR_S) - max(since_s, hour * HOUR_S)
        for hour in range(since_s // HOUR_S, -(-until_s // HOUR_S))
    }
    amounts: dict[str, dict[str, dict[int, int]]] = {}
    for (flavor, resource), units in held:
        if units and hours:
            of_resource = amounts.setdefault(flavor, {}).setdefault(resource, {})
            for hour, seconds in hours.items():
                of_resource[hour] = of_resource.get(hour, 0) + units * seconds
    return amounts


def merged(parts: Iterable[Amounts], now_s: int) -> dict[str, dict[str, dict[int, int]]]:
    """Returns the sum, without usage that is too old for any budget."""
    total: dict[str, dict[str, dict[int, int]]] = {}
    for part in parts:
        for flavor, resources in part.items():
            for resource, hours in resources.items():
                for hour, amount in hours.items():
                    age_s = now_s - hour * HOUR_S
                    if age_s > RETAINED_S:
                        continue
                    start = hour if age_s < HOURLY_S else hour - hour % 24
                    of_resource = total.setdefault(flavor, {}).setdefault(resource, {})
                    of_resource[start] = of_resource.get(start, 0) + amount
    return total


def as_spent(amounts: Amounts) -> Iterable[core.Spent]:
    """Yields the usage as the core reads it."""
    for flavor, resources in amounts.items():
        for resource, hours in resources.items():
            for hour, amount in hours.items():
                yield core.Spent(resource, hour * core.HOUR_MS, amount * 1000, flavor)
