"""The quota tree: ClusterQueues under cohorts of any depth, with quota, usage, borrowing and lending.

Source: Kueue's pkg/cache/scheduler/resource_node.go. A node's subtree quota is its nominal quota plus the
quota that its children lend. The part above its lending limit is its local quota, and only usage beyond
the local quota counts at the parent.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from fractions import Fraction
from math import inf

from muster.admission.model import ClusterQueue, Cohort, FlavorResource, Quota, ResourceGroup, Snapshot

Usage = Mapping[FlavorResource, int]

_NO_QUOTA = Quota(nominal=0)


class QuotaNode:
    """A ClusterQueue or Cohort of the tree, with quantities by flavor and resource.

    Values that depend on quotas alone are computed once (`compute_limits`)."""

    __slots__ = (
        "_ceilings",
        "_changed",
        "_descent",
        "_local",
        "_potential",
        "cohorts",
        "height",
        "lineage",
        "name",
        "parent",
        "queues",
        "quotas",
        "root",
        "subtree",
        "units",
        "usage",
        "weight",
        "withholds_quota",
    )

    def __init__(
        self,
        name: str,
        quotas: Mapping[FlavorResource, Quota],
        weight: Fraction,
        parent: "QuotaNode | None",
    ) -> None:
        self.name = name
        self.parent = parent
        self.lineage: tuple[QuotaNode, ...] = (self, *(parent.lineage if parent else ()))
        self.root: QuotaNode = self.lineage[-1]
        self._descent = self.lineage[-2::-1]  # from the root's child to this node
        self._changed: set[QuotaNode] = set()  # used in roots; see take_changed
        self.cohorts: list[QuotaNode] = []
        self.queues: list[QuotaNode] = []  # active ones
        self.reset(quotas, weight)

    def reset(self, quotas: Mapping[FlavorResource, Quota], weight: Fraction) -> None:
        """Sets quotas and weight, and clears usage; the caller then calls `compute_limits`."""
        self.quotas = quotas
        self.weight = weight  # for fair sharing
        self.subtree = {fr: quota.nominal for fr, quota in quotas.items()}
        self.usage: dict[FlavorResource, int] = {}
        self.height = 0  # above the deepest leaf
        self.withholds_quota = False  # used in roots: a lending limit withholds quota in the tree
        self.units: dict[str, Fraction] | None = None  # by resource; computed by quota/share.py
        self._local: dict[FlavorResource, int] = {}  # without zeros
        self._ceilings: dict[FlavorResource, int] = {}  # maximum usage, if borrowing is limited
        self._potential: dict[FlavorResource, int] = {}

    def compute_limits(self) -> None:
        """Computes local quota and ceilings; requires the complete subtree quota."""
        for fr, quota in self.quotas.items():
            subtree = self.subtree[fr]
            if quota.lending_limit is not None and subtree > quota.lending_limit:
                self._local[fr] = subtree - quota.lending_limit
                self.root.withholds_quota = True
            if quota.borrowing_limit is not None:
                self._ceilings[fr] = subtree + quota.borrowing_limit

    @property
    def has_limits(self) -> bool:
        """Returns whether `headroom` depends on the usage of this node."""
        return bool(self._local or self._ceilings)

    def quota(self, fr: FlavorResource) -> Quota:
        """Returns the node's own quota of a resource."""
        return self.quotas.get(fr, _NO_QUOTA)

    def local_quota(self, fr: FlavorResource) -> int:
        """Returns the quota that the lending limit withholds from the parent."""
        return self._local.get(fr, 0)

    def local_available(self, fr: FlavorResource) -> int:
        """Returns the unused part of the quota that the node does not lend."""
        return max(0, self._local.get(fr, 0) - self.usage.get(fr, 0))

    def available(self, fr: FlavorResource) -> int:
        """Returns the unused quota, own and borrowed; negative if usage exceeds the quota."""
        root = self.root
        extra, limit = self.headroom(fr)
        return int(min(root.subtree.get(fr, 0) - root.usage.get(fr, 0) + extra, limit))

    def headroom(self, fr: FlavorResource) -> tuple[int, float]:
        """Returns `extra, limit`: `available` is the root's unused quota plus `extra`, and at most `limit`.

        It depends on the usage of this node and its ancestors, but not of the root."""
        extra, limit = 0, inf
        for node in self._descent:
            used = node.usage.get(fr, 0)
            local = node._local.get(fr, 0)
            ceiling = node._ceilings.get(fr)
            if ceiling is not None:
                limit = min(limit, ceiling - max(used, local))
            if used < local:
                extra += local - used
                limit += local - used
        return extra, limit

    def potentially_available(self, fr: FlavorResource) -> int:
        """Returns the quota that this node could use if the tree had no usage."""
        potential = self._potential.get(fr)
        if potential is None:
            potential = self.root.subtree.get(fr, 0)
            for node in self._descent:
                potential += node._local.get(fr, 0)
                potential = min(potential, node._ceilings.get(fr, potential))
            self._potential[fr] = potential
        return potential

    def fits(self, usage: Usage) -> bool:
        """Returns whether the usage fits in the available quota."""
        # If usage exceeds the quota, a request of 0 still fits.
        for fr, amount in usage.items():  # noqa: SIM110 - a generator is slow, and this is the hottest loop
            if max(0, self.available(fr)) < amount:
                return False
        return True

    def add(self, usage: Usage) -> None:
        """Adds usage to this node and, beyond its local quota, to its ancestors."""
        self.root._changed.add(self)
        for fr, amount in usage.items():
            for node in self.lineage:
                used = node.usage.get(fr, 0)
                node.usage[fr] = used + amount
                local = max(0, node._local.get(fr, 0) - used)
                if amount <= local:
                    break
                amount -= local

    def remove(self, usage: Usage) -> None:
        """Removes usage that `add` added."""
        self.root._changed.add(self)
        # A parent counts only usage beyond the local quota, which is therefore released first.
        for fr, amount in usage.items():
            for node in self.lineage:
                used = node.usage.get(fr, 0)
                node.usage[fr] = used - amount
                amount = min(amount, used - node._local.get(fr, 0))  # the part that the parent counts
                if amount <= 0:
                    break

    def hide(self, usage: Usage, resources: Collection[FlavorResource]) -> None:
        """Removes the usage of these resources until `show`, for a search that reads no others. Caches stay
        valid, as nothing has changed afterwards."""
        for fr in resources:
            amount = usage.get(fr, 0)
            if not amount:
                continue
            for node in self.lineage:
                used = node.usage[fr]
                node.usage[fr] = used - amount
                amount = min(amount, used - node._local.get(fr, 0))
                if amount <= 0:
                    break

    def show(self, usage: Usage, resources: Collection[FlavorResource]) -> None:
        """Adds hidden usage again."""
        for fr in resources:
            amount = usage.get(fr, 0)
            if not amount:
                continue
            for node in self.lineage:
                used = node.usage[fr]
                node.usage[fr] = used + amount
                local = node._local.get(fr, 0) - used
                if local > 0:
                    amount -= local
                    if amount <= 0:
                        break

    def take_changed(self) -> set["QuotaNode"]:
        """Returns the nodes below this root whose usage has changed since the last call."""
        changed = self._changed
        if changed:
            self._changed = set()
        return changed

    def borrowing_with(self, fr: FlavorResource, amount: int) -> bool:
        """Returns whether the node would borrow with this additional usage."""
        return self.usage.get(fr, 0) + amount > self.subtree.get(fr, 0)

    def would_borrow(self, usage: Usage) -> bool:
        """Returns whether the node would borrow with this additional usage."""
        for fr, amount in usage.items():  # noqa: SIM110 - as in `fits`; target searches call it often
            if self.borrowing_with(fr, amount):
                return True
        return False

    def within_nominal(self, resources: Iterable[FlavorResource]) -> bool:
        """Returns whether the usage of each of these resources is within the quota of the node's subtree."""
        for fr in resources:  # noqa: SIM110 - as in `fits`; target searches call it for every queue
            if self.usage.get(fr, 0) > self.subtree.get(fr, 0):
                return False
        return True

    def borrowing_level(self, fr: FlavorResource, amount: int) -> tuple[int, bool]:
        """Returns how far away `amount` more quota is borrowed, and whether from below the root.

        The distance is the height of the lowest subtree that fits it: 0 is the node itself.
        Kueue: FindHeightOfLowestSubtreeThatFits, pkg/scheduler/preemption/classical.
        """
        for node in self.lineage:
            if not node.borrowing_with(fr, amount):
                return node.height, node.parent is not None
            amount -= node.local_available(fr)
        return self.root.height, False

    def potential_level(self, fr: FlavorResource, amount: int) -> int:
        """Returns the distance of `borrowing_level` as if no quota were used."""
        for node in self.lineage:
            if amount <= node.subtree.get(fr, 0):
                return node.height
            amount -= node.local_quota(fr)
        return self.root.height


def borrowers(nodes: Iterable[QuotaNode], resources: Collection[FlavorResource]) -> list[QuotaNode]:
    """Returns the nodes that borrow any of the resources; usually there is only one resource."""
    if len(resources) > 1:
        return [node for node in nodes if not node.within_nominal(resources)]
    return [node for node in nodes for fr in resources if node.usage.get(fr, 0) > node.subtree.get(fr, 0)]


class QuotaTree:
    """Nodes of all ClusterQueues under their cohorts; cohorts in a cycle have no nodes.

    As in Kueue, inactive queues keep quota and usage in the tree. They are not listed as children, so target
    searches skip them.
    """

    __slots__ = ("_cohorts", "queues")

    def __init__(self, snapshot: Snapshot, active: Container[str]) -> None:
        parents = cohort_parents(snapshot)
        cohorts = self._cohorts = dict[str, QuotaNode]()
        for name in parents_first(parents, cyclic_cohorts(parents)):
            parent = cohorts.get(parents[name] or "")
            node = QuotaNode(name, *_quotas_and_weight(snapshot.cohorts.get(name)), parent)
            cohorts[name] = node
            if node.parent:
                node.parent.cohorts.append(node)
        self.queues: dict[str, QuotaNode] = {}
        for name, queue in sorted(snapshot.cluster_queues.items()):
            parent = cohorts.get(queue.cohort or "")
            node = QuotaNode(name, *_quotas_and_weight(queue), parent)
            self.queues[name] = node
            if node.parent and name in active:
                node.parent.queues.append(node)
        _sum_up([*cohorts.values(), *self.queues.values()])

    @property
    def cohorts(self) -> Mapping[str, QuotaNode]:
        """Returns the nodes of cohorts by name, parents first."""
        return self._cohorts

    def update_quotas(self, snapshot: Snapshot) -> set[QuotaNode]:
        """Sets the quotas and weights of a snapshot with the same queues and cohorts. Returns the roots of
        changed trees: their usage is cleared, and the caller adds it again."""
        quotas_by_node = {
            node: _quotas_and_weight(snapshot.cohorts.get(name)) for name, node in self._cohorts.items()
        }
        quotas_by_node |= {
            node: _quotas_and_weight(snapshot.cluster_queues[name]) for name, node in self.queues.items()
        }
        changed = {
            node.root for node, quotas in quotas_by_node.items() if quotas != (node.quotas, node.weight)
        }
        reset = [node for node in quotas_by_node if node.root in changed]
        for node in reset:
            node.reset(*quotas_by_node[node])
        _sum_up(reset)
        return changed


def _quotas_and_weight(owner: ClusterQueue | Cohort | None) -> tuple[dict[FlavorResource, Quota], Fraction]:
    """Returns quotas and weight; a cohort that is referenced but not declared has no quota."""
    return (quotas_of(owner.groups), owner.weight) if owner is not None else ({}, Fraction(1))


def quotas_of(groups: Iterable[ResourceGroup]) -> dict[FlavorResource, Quota]:
    """Returns the quotas of resource groups by flavor and resource."""
    return {
        FlavorResource(flavor.flavor, resource): quota
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    }


def _sum_up(nodes: list[QuotaNode]) -> None:
    """Sums subtree quotas and heights up the tree."""
    # Deepest nodes first: what a node lends depends on its complete subtree quota.
    for node in sorted(nodes, key=lambda node: -len(node.lineage)):
        node.compute_limits()
        if node.cohorts or node.queues:
            node.height = 1 + max((child.height for child in node.cohorts), default=0)
        if node.parent:
            for fr, amount in node.subtree.items():
                lent = amount - node.local_quota(fr)
                node.parent.subtree[fr] = node.parent.subtree.get(fr, 0) + lent


def cohort_parents(snapshot: Snapshot) -> dict[str, str | None]:
    """Returns the parent of each declared or referenced cohort, sorted by name."""
    parents: dict[str, str | None] = {name: cohort.parent for name, cohort in snapshot.cohorts.items()}
    referenced = [cohort.parent for cohort in snapshot.cohorts.values()]
    referenced += [queue.cohort for queue in snapshot.cluster_queues.values()]
    for name in referenced:
        if name is not None:
            parents.setdefault(name, None)
    return dict(sorted(parents.items()))


def cyclic_cohorts(parents: Mapping[str, str | None]) -> frozenset[str]:
    """Returns the cohorts whose chain of parents contains a cycle."""
    acyclic: dict[str, bool] = {}
    for start in parents:
        chain: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in acyclic and name not in chain:
            chain[name] = None
            name = parents[name]
        reaches_root = name is None or acyclic.get(name, False)
        acyclic.update(dict.fromkeys(chain, reaches_root))
    return frozenset(name for name, reaches_root in acyclic.items() if not reaches_root)


def parents_first(parents: Mapping[str, str | None], cyclic: Container[str]) -> Iterator[str]:
    """Yields the cohorts so that each follows its parent; omits those in cycles."""
    visited: set[str] = set()
    for start in parents:
        chain = []
        name: str | None = start
        while name is not None and name not in visited and name not in cyclic:
            visited.add(name)
            chain.append(name)
            name = parents[name]
        yield from reversed(chain)
