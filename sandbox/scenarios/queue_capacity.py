"""How many pods fit into a ClusterQueue's quotas and its pools' nodes, by the stack file. Pure.

A simpler flavor assignment than an engine's: the first flavor that holds a whole pod set, no preemption. What
the queue may borrow is what the others of its cohort tree have, as if nothing of it were in use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sandbox.stand_ins.capacity import quantity
from settings.load import Settings
from settings.model.queues.queue import ClusterQueue
from settings.model.queues.resource_groups import Quota, ResourceGroup

Usage = Mapping[tuple[str, str], Decimal]
"""By flavor and resource."""


@dataclass(frozen=True)
class PodSet:
    """`count` pods, each of which requests `requests`."""

    count: int
    requests: Mapping[str, Decimal]


@dataclass(frozen=True)
class Shortage:
    """A quota, or with resource `nodes` a pool, that holds less than a gang needs."""

    flavor: str
    resource: str
    needs: Decimal
    available: Decimal


@dataclass(frozen=True)
class QueueCapacity:
    """The quotas of one ClusterQueue by group, and in `borrowed` what it may borrow beside them."""

    groups: Sequence[ResourceGroup]
    borrowed: Usage
    pods_max: Mapping[str, Sequence[tuple[Mapping[str, str], int]]]
    """By flavor: what a node of each pool holds, and how many nodes it may have."""

    def place(self, gang: Sequence[PodSet], used: Usage, borrowing: bool) -> Usage | None:
        """Returns the usage with the gang in it, or None if it does not fit whole."""
        for pods in gang:
            for group in self.groups:
                if not (wanted := _wanted(pods, group)):
                    continue
                flavors = (f.flavor for f in group.flavors)
                chosen = next((f for f in flavors if not self._short(f, pods, group, used, borrowing)), None)
                if chosen is None:
                    return None
                used = {**used, **{(chosen, r): used.get((chosen, r), 0) + n for r, n in wanted.items()}}
            if self._uncovered(pods):
                return None
        return used

    def shortages(self, gang: Sequence[PodSet]) -> list[Shortage]:
        """Returns what a gang lacks to fit the empty queue, in the flavors that lack least."""
        used: Usage = {}
        for pods in gang:
            placed = self.place([pods], used, borrowing=False)
            if placed is None:
                return self._lacking(pods, used)
            used = placed
        return []

    def pods_of(self, pods: PodSet) -> int:
        """Returns the most pods like these that the pools of any one flavor hold."""
        return max((self._pods_on(f.flavor, pods) for group in self.groups for f in group.flavors), default=0)

    def _lacking(self, pods: PodSet, used: Usage) -> list[Shortage]:
        if uncovered := self._uncovered(pods):
            return [Shortage("any", r, pods.count * pods.requests[r], Decimal(0)) for r in sorted(uncovered)]
        found = [
            (not self._pods_on(f.flavor, pods), self._short(f.flavor, pods, group, used, False))
            for group in self.groups
            if _wanted(pods, group)
            for f in group.flavors
        ]
        # flavors whose nodes hold such a pod come first
        return min(found, key=lambda lack: (lack[0], len(lack[1])), default=(True, []))[1]

    def _uncovered(self, pods: PodSet) -> set[str]:
        return set(pods.requests) - {r for group in self.groups for r in group.covered}

    def _short(
        self, flavor: str, pods: PodSet, group: ResourceGroup, used: Usage, borrowing: bool
    ) -> list[Shortage]:
        quotas = next(f.quotas for f in group.flavors if f.flavor == flavor)
        found = []
        for resource, wanted in _wanted(pods, group).items():
            at = (flavor, resource)
            gives = _nominal(quotas[resource]) + (self.borrowed.get(at, Decimal(0)) if borrowing else 0)
            if used.get(at, Decimal(0)) + wanted > gives:
                found.append(Shortage(flavor, resource, wanted, gives - used.get(at, Decimal(0))))
        if not found and (most := self._pods_on(flavor, pods)) < pods.count:
            found.append(Shortage(flavor, "nodes", Decimal(pods.count), Decimal(most)))
        return found

    def _pods_on(self, flavor: str, pods: PodSet) -> int:
        return sum(nodes * _per_node(pods, capacity) for capacity, nodes in self.pods_max.get(flavor, ()))


def capacity_of(settings: Settings, queue: ClusterQueue) -> QueueCapacity:
    """Returns the capacity of one queue of the stack."""
    pods_max: dict[str, list[tuple[Mapping[str, str], int]]] = {}
    for pool in settings.pools:
        pods_max.setdefault(pool.flavor_name, []).append((pool.capacity, pool.nodes_max))
    return QueueCapacity(queue.resource_groups, _borrowed(settings, queue), pods_max)


def _borrowed(settings: Settings, queue: ClusterQueue) -> dict[tuple[str, str], Decimal]:
    cohorts = {cohort.name: cohort for cohort in settings.queues.cohorts}

    def root(name: str | None) -> str | None:
        while name is not None and (parent := cohorts[name].parent if name in cohorts else None) is not None:
            name = parent
        return name

    if queue.cohort is None:
        return {}
    lent: dict[tuple[str, str], Decimal] = {}
    lenders = [
        q for q in settings.queues.cluster_queues if q is not queue and root(q.cohort) == root(queue.cohort)
    ]
    givers = [c for c in settings.queues.cohorts if root(c.name) == root(queue.cohort)]
    for quotas_of in [giver.quotas for giver in lenders] + [giver.quotas for giver in givers]:
        for flavor, quotas in quotas_of.items():
            for resource, quota in quotas.items():
                lent[flavor, resource] = lent.get((flavor, resource), Decimal(0)) + min(
                    _nominal(quota), quantity(quota.lending_limit or quota.nominal)
                )
    limits = {
        (flavor, resource): quantity(quota.borrowing_limit)
        for flavor, quotas in queue.quotas.items()
        for resource, quota in quotas.items()
        if quota.borrowing_limit is not None
    }
    return {at: min(most, limits.get(at, most)) for at, most in lent.items()}


def _wanted(pods: PodSet, group: ResourceGroup) -> dict[str, Decimal]:
    return {r: pods.count * n for r, n in pods.requests.items() if r in group.covered and n}


def _per_node(pods: PodSet, capacity: Mapping[str, str]) -> int:
    return int(min((quantity(capacity.get(r, "0")) // n for r, n in pods.requests.items() if n), default=0))


def _nominal(quota: Quota) -> Decimal:
    return quantity(quota.nominal)
