"""Converts unreadable or deleted ClusterQueues and Cohorts, so that the usage of their gangs still counts.

An unreadable quota counts as 0, as does the quota of a resource in two groups. Such a ClusterQueue admits
nothing; Kueue's webhooks would have rejected it.
"""

from collections import Counter
from collections.abc import Iterable

from muster import admission as core
from muster.admission.quantities import parse
from muster.objects import kueue_queues


def cluster_queue(obj: kueue_queues.ClusterQueue, problem: str) -> core.ClusterQueue:
    """Converts a ClusterQueue; `problem` describes its error."""
    return core.ClusterQueue(
        name=obj.metadata.name,
        cohort=obj.spec.cohort_name or None,
        groups=_groups(obj.spec.resource_groups),
        problem=problem,
    )


def cohort(obj: kueue_queues.Cohort) -> core.Cohort:
    """Returns a Cohort with its parent and quotas."""
    return core.Cohort(
        name=obj.metadata.name,
        parent=obj.spec.parent_name or None,
        groups=_groups(obj.spec.resource_groups),
    )


def deleted_queue(
    name: str,
    flavors: frozenset[str],
    cohorts: Iterable[core.Cohort],
    cluster_queues: Iterable[core.ClusterQueue],
) -> core.ClusterQueue:
    """Returns a deleted ClusterQueue in which gangs hold quota, of these flavors.

    Its cohort is unknown: the usage counts in the first cohort, by name, that has such a flavor."""
    offers = [(c.name, c.groups) for c in cohorts]
    offers += [(q.cohort, q.groups) for q in cluster_queues if q.cohort is not None]
    matches = {name for name, groups in offers for g in groups for f in g.flavors if f.flavor in flavors}
    return core.ClusterQueue(name, cohort=min(matches, default=None), problem="it was deleted")


def _groups(groups: Iterable[kueue_queues.ResourceGroup]) -> tuple[core.ResourceGroup, ...]:
    """Merges all groups into one, in which every flavor has a quota for every resource."""
    groups = tuple(groups)
    occurrences = Counter(name for group in groups for name in _resources(group))
    by_flavor: dict[str, dict[str, core.Quota]] = {}
    for flavor in (flavor for group in groups for flavor in group.flavors):
        quotas = by_flavor.setdefault(flavor.name, {})
        for resource in flavor.resources:
            is_unique = occurrences[resource.name] == 1 and resource.name not in quotas
            quotas[resource.name] = _quota(resource) if is_unique else core.Quota(0)
    covered = tuple(dict.fromkeys(resource for quotas in by_flavor.values() for resource in quotas))
    if not covered:
        return ()
    flavors = (
        core.FlavorQuotas(name, {resource: quotas.get(resource, core.Quota(0)) for resource in covered})
        for name, quotas in by_flavor.items()
    )
    return (core.ResourceGroup(covered, tuple(flavors)),)


def _resources(group: kueue_queues.ResourceGroup) -> set[str]:
    return {resource.name for flavor in group.flavors for resource in flavor.resources}


def _quota(obj: kueue_queues.ResourceQuota) -> core.Quota:
    borrowing, lending = (
        None if text is None else _amount(obj.name, text) for text in (obj.borrowing_limit, obj.lending_limit)
    )
    return core.Quota(_amount(obj.name, obj.nominal_quota), borrowing, lending)


def _amount(resource: str, text: str | int) -> int:
    try:
        return max(0, parse(resource, text))
    except core.QuantityError:
        return 0
