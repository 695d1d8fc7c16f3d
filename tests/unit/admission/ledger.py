"""The quota rules recomputed naively, as an oracle for the properties."""

from muster.admission import FlavorResource, Quota, ResourceGroup, Snapshot


class Ledger:
    """A naive recomputation of Kueue's quota rules: every number from scratch, top down."""

    def __init__(self, of: Snapshot) -> None:
        self.of = of
        self.parents = {name: cohort.parent for name, cohort in of.cohorts.items()}
        self.parents |= {name: queue.cohort for name, queue in of.cluster_queues.items()}

    def children(self, name: str) -> list[str]:
        return [child for child, parent in self.parents.items() if parent == name]

    def quota(self, name: str, fr: FlavorResource) -> Quota:
        cohort = self.of.cohorts.get(name)
        groups = cohort.groups if cohort else self.of.cluster_queues[name].groups
        return _quotas(groups).get(fr, Quota(0))

    def subtree(self, name: str, fr: FlavorResource) -> int:
        lent = (
            self.subtree(child, fr) - self.reserved_for_subtree(child, fr) for child in self.children(name)
        )
        return self.quota(name, fr).nominal + sum(lent)

    def reserved_for_subtree(self, name: str, fr: FlavorResource) -> int:
        lending = self.quota(name, fr).lending_limit
        return 0 if lending is None else max(0, self.subtree(name, fr) - lending)

    def used(self, name: str, fr: FlavorResource) -> int:
        own = sum(
            pod_set.usage[fr.resource]
            for workload in self.of.workloads
            if workload.admission is not None and workload.admission.cluster_queue == name
            for pod_set in workload.admission.pod_sets
            if pod_set.flavors.get(fr.resource) == fr.flavor
        )
        beyond = (
            max(0, self.used(child, fr) - self.reserved_for_subtree(child, fr))
            for child in self.children(name)
        )
        return own + sum(beyond)

    def potential(self, name: str, fr: FlavorResource) -> int:
        """The quota that it could use if nothing were used."""
        parent, quota = self.parents[name], self.quota(name, fr)
        if parent is None:
            return self.subtree(name, fr)
        most = self.reserved_for_subtree(name, fr) + self.potential(parent, fr)
        limit = quota.borrowing_limit
        return most if limit is None else min(most, self.subtree(name, fr) + limit)

    def root(self, name: str) -> str:
        parent = self.parents[name]
        return name if parent is None else self.root(parent)

    def resources(self) -> set[FlavorResource]:
        groups = [cohort.groups for cohort in self.of.cohorts.values()]
        groups += [queue.groups for queue in self.of.cluster_queues.values()]
        return {fr for some in groups for fr in _quotas(some)}

    def overrun(self) -> list[tuple[str, FlavorResource]]:
        """Places with more usage than the quota and what may be borrowed for it."""
        return [(name, fr) for name in self.parents for fr in self.resources() if self._over(name, fr)]

    def _over(self, name: str, fr: FlavorResource) -> bool:
        limit = self.quota(name, fr).borrowing_limit if self.parents[name] else 0
        return limit is not None and self.used(name, fr) > self.subtree(name, fr) + limit


def _quotas(groups: tuple[ResourceGroup, ...]) -> dict[FlavorResource, Quota]:
    return {
        FlavorResource(flavors.flavor, resource): quota
        for group in groups
        for flavors in group.flavors
        for resource, quota in flavors.quotas.items()
    }
