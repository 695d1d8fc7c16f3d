"""The quota tree: who may use how much, over cohorts of any depth.

The rules are those of Kueue's pkg/cache/scheduler/resource_node.go. A node's subtree quota is
what it and its children bring in; the part above its lending limit stays at home (its local
quota), and only usage beyond the local quota counts at the parent.
"""

from collections.abc import Container, Iterable, Iterator, Mapping

from muster.admission.model import FlavorResource, Quota, ResourceGroup, Snapshot

Usage = Mapping[FlavorResource, int]

_NO_QUOTA = Quota(nominal=0)


class QuotaNode:
    """A ClusterQueue or a Cohort in the tree. Quantities are by flavor and resource."""

    __slots__ = ("cohorts", "height", "lineage", "name", "parent", "queues", "quotas", "subtree", "usage")

    def __init__(self, name: str, quotas: Mapping[FlavorResource, Quota], parent: "QuotaNode | None") -> None:
        self.name = name
        self.quotas = quotas
        self.parent = parent
        self.lineage: tuple[QuotaNode, ...] = (self, *(parent.lineage if parent else ()))
        self.subtree = {fr: quota.nominal for fr, quota in quotas.items()}
        self.usage: dict[FlavorResource, int] = {}
        self.cohorts: list[QuotaNode] = []
        self.queues: list[QuotaNode] = []  # the active ones
        self.height = 0  # to the furthest leaf

    @property
    def root(self) -> "QuotaNode":
        return self.lineage[-1]

    def quota(self, fr: FlavorResource) -> Quota:
        return self.quotas.get(fr, _NO_QUOTA)

    def local_quota(self, fr: FlavorResource) -> int:
        """What the lending limit keeps from the parent."""
        lending = self.quota(fr).lending_limit
        return 0 if lending is None else max(0, self.subtree.get(fr, 0) - lending)

    def local_available(self, fr: FlavorResource) -> int:
        return max(0, self.local_quota(fr) - self.usage.get(fr, 0))

    def available(self, fr: FlavorResource) -> int:
        """What this node can still take, own and borrowed; negative where more is used than allowed."""
        room = self.root.subtree.get(fr, 0) - self.root.usage.get(fr, 0)
        for node in reversed(self.lineage[:-1]):
            limit = node.quota(fr).borrowing_limit
            if limit is not None:
                local = node.local_quota(fr)
                stored_in_parent = node.subtree.get(fr, 0) - local
                used_in_parent = max(0, node.usage.get(fr, 0) - local)
                room = min(room, stored_in_parent - used_in_parent + limit)
            room += node.local_available(fr)
        return room

    def potentially_available(self, fr: FlavorResource) -> int:
        """What this node could take if nothing were used anywhere."""
        room = self.root.subtree.get(fr, 0)
        for node in reversed(self.lineage[:-1]):
            room += node.local_quota(fr)
            limit = node.quota(fr).borrowing_limit
            if limit is not None:
                room = min(room, node.subtree.get(fr, 0) + limit)
        return room

    def fits(self, usage: Usage) -> bool:
        return all(max(0, self.available(fr)) >= amount for fr, amount in usage.items())

    def add(self, usage: Usage) -> None:
        """Takes the quantities, at this node and, beyond its local quota, at its ancestors."""
        for fr, amount in usage.items():
            for node in self.lineage:
                local = node.local_available(fr)
                node.usage[fr] = node.usage.get(fr, 0) + amount
                if amount <= local:
                    break
                amount -= local

    def remove(self, usage: Usage) -> None:
        """Gives back what `add` took."""
        for fr, amount in usage.items():
            for node in self.lineage:
                stored_in_parent = node.usage.get(fr, 0) - node.local_quota(fr)
                node.usage[fr] = node.usage.get(fr, 0) - amount
                if stored_in_parent <= 0:
                    break
                amount = min(amount, stored_in_parent)

    def borrowing_with(self, fr: FlavorResource, amount: int) -> bool:
        return self.usage.get(fr, 0) + amount > self.subtree.get(fr, 0)

    def within_nominal(self, resources: Iterable[FlavorResource]) -> bool:
        return not any(self.borrowing_with(fr, 0) for fr in resources)

    def borrowing_level(self, fr: FlavorResource, amount: int) -> tuple[int, bool]:
        """How far away the quota for `amount` more comes from, and whether from below the root.

        The distance is the height of the lowest subtree that holds it: 0 means the node itself.
        Kueue: FindHeightOfLowestSubtreeThatFits, pkg/scheduler/preemption/classical.
        """
        for node in self.lineage:
            if not node.borrowing_with(fr, amount):
                return node.height, node.parent is not None
            amount -= node.local_available(fr)
        return self.root.height, False


class QuotaTree:
    """Every ClusterQueue's node under its cohorts; a cohort in a cycle has none.

    A queue that is not active keeps its quota and usage in the tree, as in Kueue, but is no
    child that a search for victims would meet.
    """

    __slots__ = ("queues",)

    def __init__(self, snapshot: Snapshot, active: Container[str]) -> None:
        parents = cohort_parents(snapshot)
        cohorts: dict[str, QuotaNode] = {}
        for name in _parents_first(parents, cyclic_cohorts(parents)):
            cohort = snapshot.cohorts.get(name)
            parent = cohorts.get(parents[name] or "")
            node = QuotaNode(name, quotas_of(cohort.groups if cohort else ()), parent)
            cohorts[name] = node
            if node.parent:
                node.parent.cohorts.append(node)
        self.queues: dict[str, QuotaNode] = {}
        for name, queue in sorted(snapshot.cluster_queues.items()):
            node = QuotaNode(name, quotas_of(queue.groups), cohorts.get(queue.cohort or ""))
            self.queues[name] = node
            if node.parent and name in active:
                node.parent.queues.append(node)
        _lift([*cohorts.values(), *self.queues.values()])


def cohort_parents(snapshot: Snapshot) -> dict[str, str | None]:
    """Every cohort that is declared or only named, with its parent; names in order."""
    parents: dict[str, str | None] = {name: cohort.parent for name, cohort in snapshot.cohorts.items()}
    named = [cohort.parent for cohort in snapshot.cohorts.values()]
    named += [queue.cohort for queue in snapshot.cluster_queues.values()]
    for name in named:
        if name is not None:
            parents.setdefault(name, None)
    return dict(sorted(parents.items()))


def cyclic_cohorts(parents: Mapping[str, str | None]) -> frozenset[str]:
    """The cohorts whose way up never ends."""
    ends: dict[str, bool] = {}
    for start in parents:
        way: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in ends and name not in way:
            way[name] = None
            name = parents[name]
        ended = name is None or ends.get(name, False)
        ends.update(dict.fromkeys(way, ended))
    return frozenset(name for name, ended in ends.items() if not ended)


def quotas_of(groups: Iterable[ResourceGroup]) -> dict[FlavorResource, Quota]:
    return {
        FlavorResource(flavor.flavor, resource): quota
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    }


def _parents_first(parents: Mapping[str, str | None], cyclic: Container[str]) -> Iterator[str]:
    seen: set[str] = set()
    for start in parents:
        way = []
        name: str | None = start
        while name is not None and name not in seen and name not in cyclic:
            seen.add(name)
            way.append(name)
            name = parents[name]
        yield from reversed(way)


def _lift(nodes: list[QuotaNode]) -> None:
    """Sums subtree quotas and heights up the tree, deepest nodes first."""
    for node in sorted(nodes, key=lambda node: -len(node.lineage)):
        if node.cohorts or node.queues:
            node.height = 1 + max((child.height for child in node.cohorts), default=0)
        if node.parent:
            for fr, amount in node.subtree.items():
                lent = amount - node.local_quota(fr)
                node.parent.subtree[fr] = node.parent.subtree.get(fr, 0) + lent
