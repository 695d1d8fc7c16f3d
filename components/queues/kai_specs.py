"""KAI's Queues (scheduling.run.ai/v2) from the settings: cohorts become parents, cluster queues leaves.

KAI counts CPUs, memory and GPUs, not flavors: the quotas of all flavors of a queue are added up.
settings/rules/kai.py reports settings that this and other differences lose.
Source: KAI-scheduler v0.12.0, docs/queues and deployments/kai-scheduler/crds.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from settings.model.base import amount
from settings.model.operators.kai import COUNTED, LONE_QUEUES
from settings.model.queues.queue import Cohort, Queues
from settings.model.queues.resource_groups import Quotas

UNLIMITED = -1

Amounts = Mapping[str, Fraction]


class KaiQueue(NamedTuple):
    """`parent` is empty for a root."""

    name: str
    parent: str
    spec: dict[str, Any]


def kai_queues(settings: Queues) -> Iterator[KaiQueue]:
    """Yields every parent before its children."""
    for cohort in _parents_first(settings.cohorts):
        quota = _tree_quota(cohort, settings)
        # A root cannot borrow: as in Kueue, its tree may use only its own quota.
        limit = _limit(quota, cohort.quotas, without_quota=None) if cohort.parent else quota
        yield _queue(cohort.name, cohort.parent or "", quota, limit, cohort.weight)
    lone = [_nominal(queue.quotas) for queue in settings.cluster_queues if not queue.cohort]
    if lone:
        # KAI schedules no pods of a queue without a parent.
        yield _queue(LONE_QUEUES, "", _sum(lone), _sum(lone), None)
    for queue in settings.cluster_queues:
        quota = _nominal(queue.quotas)
        limit = _limit(quota, queue.quotas, without_quota=Fraction(0)) if queue.cohort else quota
        yield _queue(queue.name, queue.cohort or LONE_QUEUES, quota, limit, queue.weight)


def _parents_first(cohorts: Iterable[Cohort]) -> Iterator[Cohort]:
    remaining: list[Cohort] = list(cohorts)
    done: set[str | None] = {None}
    while remaining:
        ready = [cohort for cohort in remaining if cohort.parent in done]
        assert ready, "the settings' rules require cohorts to form trees"
        yield from ready
        done |= {cohort.name for cohort in ready}
        remaining = [cohort for cohort in remaining if cohort not in ready]


def _tree_quota(cohort: Cohort, settings: Queues) -> Amounts:
    """Returns the nominal quota of the cohort and everything below it."""
    queues = [_nominal(queue.quotas) for queue in settings.cluster_queues if queue.cohort == cohort.name]
    below = [_tree_quota(child, settings) for child in settings.cohorts if child.parent == cohort.name]
    return _sum([_nominal(cohort.quotas), *queues, *below])


def _nominal(quotas: Quotas) -> Amounts:
    """Returns nominal quota over all flavors, by KAI's resource name, in KAI's unit."""
    return {
        counted.name: sum(
            (amount(q[resource].nominal) * counted.per_unit for q in quotas.values() if resource in q),
            Fraction(0),
        )
        for resource, counted in COUNTED.items()
    }


def _limit(quota: Amounts, quotas: Quotas, without_quota: Fraction | None) -> Mapping[str, Fraction | None]:
    """Returns quota plus borrowing limit; None is unlimited, and one unlimited flavor makes the sum so.

    `without_quota` is the borrowing limit of resources without quota: zero in a cluster queue, which cannot
    use resources that it does not list (Kueue), and None in a cohort, which only passes quota on.
    """
    limits: dict[str, Fraction | None] = {}
    for resource, counted in COUNTED.items():
        borrowing = [q[resource].borrowing_limit for q in quotas.values() if resource in q]
        borrowed = without_quota if not borrowing else None
        if borrowing and None not in borrowing:
            borrowed = sum((amount(limit) * counted.per_unit for limit in borrowing if limit), Fraction(0))
        limits[counted.name] = None if borrowed is None else quota[counted.name] + borrowed
    return limits


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total = {counted.name: Fraction(0) for counted in COUNTED.values()}
    for part in parts:
        total = {name: value + part[name] for name, value in total.items()}
    return total


def _queue(
    name: str, parent: str, quota: Amounts, limit: Mapping[str, Fraction | None], weight: str | None
) -> KaiQueue:
    share = _number(amount(weight or "1"))
    resources = {
        resource: {"quota": _number(quota[resource]), "limit": _number(most), "overQuotaWeight": share}
        for resource, most in limit.items()
    }
    return KaiQueue(name, parent, ({"parentQueue": parent} if parent else {}) | {"resources": resources})


def _number(value: Fraction | None) -> int | float:
    if value is None:
        return UNLIMITED
    return value.numerator if value.denominator == 1 else float(value)
