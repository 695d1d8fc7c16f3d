"""The numbers of pods that fit into a ClusterQueue's quotas and its pools' nodes. Pure.

The flavor assignment is simpler than an engine's: the first flavor that fits a whole pod set, without
preemption. The queue may borrow the quota of the others in its cohort tree, as if it were unused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from sandbox.stand_ins.capacity import quantity
from settings.load import Settings
from settings.model.queues.queue import ClusterQueue
from settings.model.queues.resource_groups import Quota, ResourceGroup

Usage = Mapping[tuple[str, str], Decimal]
"""Amounts by flavor and resource."""


@dataclass(frozen=True)
class PodSet:
    """A number of pods with the same requests."""

    count: int
    requests: Mapping[str, Decimal]


@dataclass(frozen=True)
class Shortage:
    """A quota that is smaller than a gang needs; with resource `nodes`, a pool that is too small."""

    flavor: str
    resource: str
    needs: Decimal
    available: Decimal


@dataclass(frozen=True)
class QueueCapacity:
    """The quotas of a ClusterQueue by resource group; `borrowed` is what it may borrow in addition."""

    groups: Sequence[ResourceGroup]
    borrowed: Usage
    pods_max: Mapping[str, Sequence[tuple[Mapping[str, str], int]]]
    """Pools of each flavor: the capacity of a node, and the maximum number of nodes."""

    def first_flavors(self) -> "QueueCapacity":
        """Returns the capacity of the flavors that are tried first."""
        return replace(self, groups=[ResourceGroup(g.covered, g.flavors[:1]) for g in self.groups])

    def place(self, gang: Sequence[PodSet], used: Usage, borrowing: bool) -> Usage | None:
        """Returns the usage including the gang; None if the whole gang does not fit."""
        for pods in gang:
            for group in self.groups:
                if not (requests := _requests_in(pods, group)):
                    continue
                flavors = (f.flavor for f in group.flavors)
                assigned = next(
                    (f for f in flavors if not self._shortages_in(f, pods, group, used, borrowing)), None
                )
                if assigned is None:
                    return None
                added = {(assigned, r): used.get((assigned, r), 0) + n for r, n in requests.items()}
                used = {**used, **added}
            if self._uncovered(pods):
                return None
        return used

    def shortages(self, gang: Sequence[PodSet]) -> list[Shortage]:
        """Returns the shortages of a gang in the empty queue, in the flavors that are closest to fitting."""
        used: Usage = {}
        for pods in gang:
            placed = self.place([pods], used, borrowing=False)
            if placed is None:
                return self._smallest_shortages(pods, used)
            used = placed
        return []

    def pods_of(self, pods: PodSet) -> int:
        """Returns the maximum number of such pods in the pools of a single flavor."""
        return max((self._pods_on(f.flavor, pods) for group in self.groups for f in group.flavors), default=0)

    def _smallest_shortages(self, pods: PodSet, used: Usage) -> list[Shortage]:
        if uncovered := self._uncovered(pods):
            return [Shortage("any", r, pods.count * pods.requests[r], Decimal(0)) for r in sorted(uncovered)]
        options = [
            (not self._pods_on(f.flavor, pods), self._shortages_in(f.flavor, pods, group, used, False))
            for group in self.groups
            if _requests_in(pods, group)
            for f in group.flavors
        ]
        # Prefers flavors whose nodes fit such a pod.
        return min(options, key=lambda option: (option[0], len(option[1])), default=(True, []))[1]

    def _uncovered(self, pods: PodSet) -> set[str]:
        return set(pods.requests) - {r for group in self.groups for r in group.covered}

    def _shortages_in(
        self, flavor: str, pods: PodSet, group: ResourceGroup, used: Usage, borrowing: bool
    ) -> list[Shortage]:
        quotas = next(f.quotas for f in group.flavors if f.flavor == flavor)
        shortages = []
        for resource, requested in _requests_in(pods, group).items():
            at = (flavor, resource)
            quota = _nominal(quotas[resource]) + (self.borrowed.get(at, Decimal(0)) if borrowing else 0)
            if used.get(at, Decimal(0)) + requested > quota:
                shortages.append(Shortage(flavor, resource, requested, quota - used.get(at, Decimal(0))))
        if not shortages and (pods_max := self._pods_on(flavor, pods)) < pods.count:
            shortages.append(Shortage(flavor, "nodes", Decimal(pods.count), Decimal(pods_max)))
        return shortages

    def _pods_on(self, flavor: str, pods: PodSet) -> int:
        return sum(nodes * _per_node(pods, capacity) for capacity, nodes in self.pods_max.get(flavor, ()))


def capacity_of(settings: Settings, queue: ClusterQueue) -> QueueCapacity:
    """Returns the capacity of a ClusterQueue of the stack."""
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
    cohorts_in_tree = [c for c in settings.queues.cohorts if root(c.name) == root(queue.cohort)]
    for by_flavor in [lender.quotas for lender in lenders] + [cohort.quotas for cohort in cohorts_in_tree]:
        for flavor, quotas in by_flavor.items():
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
    return {at: min(amount, limits.get(at, amount)) for at, amount in lent.items()}


def _requests_in(pods: PodSet, group: ResourceGroup) -> dict[str, Decimal]:
    return {r: pods.count * n for r, n in pods.requests.items() if r in group.covered and n}


def _per_node(pods: PodSet, capacity: Mapping[str, str]) -> int:
    return int(min((quantity(capacity.get(r, "0")) // n for r, n in pods.requests.items() if n), default=0))


def _nominal(quota: Quota) -> Decimal:
    return quantity(quota.nominal)
