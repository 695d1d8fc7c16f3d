"""The quota tree: nodes of all ClusterQueues under cohorts of any depth, with what each has, uses, may borrow
and lend.

The rules are those of Kueue's pkg/cache/scheduler/resource_node.go. A node's subtree quota is
what it and its children bring in; the part above its lending limit stays at home (its local
quota), and only usage beyond the local quota counts at the parent.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from fractions import Fraction
from math import inf

from muster.admission.model import ClusterQueue, Cohort, FlavorResource, Quota, ResourceGroup, Snapshot

Usage = Mapping[FlavorResource, int]

_NO_QUOTA = Quota(nominal=0)


class QuotaNode:
    """A ClusterQueue or a Cohort in the tree. Quantities are by flavor and resource.

    What the quotas alone determine is computed once (`settle`), when they are set."""

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
        self._descent = self.lineage[-2::-1]  # from below the root down to this node
        self._changed: set[QuotaNode] = set()  # of a root; see take_changed
        self.cohorts: list[QuotaNode] = []
        self.queues: list[QuotaNode] = []  # the active ones
        self.reset(quotas, weight)

    def reset(self, quotas: Mapping[FlavorResource, Quota], weight: Fraction) -> None:
        """Begins with these quotas, and without usage; `settle` follows."""
        self.quotas = quotas
        self.weight = weight  # of its share
        self.subtree = {fr: quota.nominal for fr, quota in quotas.items()}
        self.usage: dict[FlavorResource, int] = {}
        self.height = 0  # to the furthest leaf
        self.units: dict[str, Fraction] | None = None  # by resource; known to quota/share.py
        self._local: dict[FlavorResource, int] = {}  # where it is not 0
        self._ceilings: dict[FlavorResource, int] = {}  # most of the parent's, where borrowing is limited
        self._potential: dict[FlavorResource, int] = {}

    def settle(self) -> None:
        """Once its subtree quota is summed up."""
        for fr, quota in self.quotas.items():
            subtree = self.subtree[fr]
            if quota.lending_limit is not None and subtree > quota.lending_limit:
                self._local[fr] = subtree - quota.lending_limit
            if quota.borrowing_limit is not None:
                self._ceilings[fr] = subtree + quota.borrowing_limit

    @property
    def has_limits(self) -> bool:
        """Whether `headroom` depends on what is used here."""
        return bool(self._local or self._ceilings)

    def quota(self, fr: FlavorResource) -> Quota:
        return self.quotas.get(fr, _NO_QUOTA)

    def local_quota(self, fr: FlavorResource) -> int:
        """The quota that the lending limit keeps from the parent."""
        return self._local.get(fr, 0)

    def local_available(self, fr: FlavorResource) -> int:
        return max(0, self._local.get(fr, 0) - self.usage.get(fr, 0))

    def available(self, fr: FlavorResource) -> int:
        """Quota that this node can still take, own and borrowed; negative where more is used than allowed."""
        root = self.root
        more, most = self.headroom(fr)
        return int(min(root.subtree.get(fr, 0) - root.usage.get(fr, 0) + more, most))

    def headroom(self, fr: FlavorResource) -> tuple[int, float]:
        """How `available` depends on the room at the root: so much more than that, but at most the second.

        It changes only with what is used below the root, from here up."""
        more, most = 0, inf
        for node in self._descent:
            used = node.usage.get(fr, 0)
            local = node._local.get(fr, 0)
            ceiling = node._ceilings.get(fr)
            if ceiling is not None:
                most = min(most, ceiling - max(used, local))
            if used < local:
                more += local - used
                most += local - used
        return more, most

    def potentially_available(self, fr: FlavorResource) -> int:
        """Quota that this node could take if nothing were used anywhere."""
        room = self._potential.get(fr)
        if room is None:
            room = self.root.subtree.get(fr, 0)
            for node in self._descent:
                room += node._local.get(fr, 0)
                room = min(room, node._ceilings.get(fr, room))
            self._potential[fr] = room
        return room

    def fits(self, usage: Usage) -> bool:
        # Where more is used than there is, a workload that asks for nothing of it still fits.
        for fr, amount in usage.items():  # noqa: SIM110 - a generator is slow, and this the hottest place
            if max(0, self.available(fr)) < amount:
                return False
        return True

    def add(self, usage: Usage) -> None:
        """Takes the quantities, at this node and, beyond its local quota, at its ancestors."""
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
        """Gives back what `add` took."""
        self.root._changed.add(self)
        # The reverse of `add`: a parent counts only what is beyond the local quota, so its usage is
        # released first.
        for fr, amount in usage.items():
            for node in self.lineage:
                used = node.usage.get(fr, 0)
                node.usage[fr] = used - amount
                amount = min(amount, used - node._local.get(fr, 0))  # the part that is stored in the parent
                if amount <= 0:
                    break

    def take_changed(self) -> set["QuotaNode"]:
        """Nodes below this root whose own usage has changed since the last call."""
        changed = self._changed
        if changed:
            self._changed = set()
        return changed

    def borrowing_with(self, fr: FlavorResource, amount: int) -> bool:
        return self.usage.get(fr, 0) + amount > self.subtree.get(fr, 0)

    def would_borrow(self, usage: Usage) -> bool:
        """Whether it would use more than its own quota if it took these quantities too."""
        for fr, amount in usage.items():  # noqa: SIM110 - as in `fits`; searches for victims ask this often
            if self.borrowing_with(fr, amount):
                return True
        return False

    def within_nominal(self, resources: Iterable[FlavorResource]) -> bool:
        for fr in resources:  # noqa: SIM110 - as in `fits`; searches for victims ask this of every queue
            if self.usage.get(fr, 0) > self.subtree.get(fr, 0):
                return False
        return True

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


def borrowers(nodes: Iterable[QuotaNode], resources: Collection[FlavorResource]) -> list[QuotaNode]:
    """Nodes that use more than their own of any of the resources; mostly there is only one resource."""
    if len(resources) > 1:
        return [node for node in nodes if not node.within_nominal(resources)]
    return [node for node in nodes for fr in resources if node.usage.get(fr, 0) > node.subtree.get(fr, 0)]


class QuotaTree:
    """Nodes of all ClusterQueues under their cohorts; a cohort in a cycle has none.

    A queue that is not active keeps its quota and usage in the tree, as in Kueue, but is no
    child that a search for victims would meet.
    """

    __slots__ = ("_cohorts", "queues")

    def __init__(self, snapshot: Snapshot, active: Container[str]) -> None:
        parents = cohort_parents(snapshot)
        cohorts = self._cohorts = dict[str, QuotaNode]()
        for name in parents_first(parents, cyclic_cohorts(parents)):
            parent = cohorts.get(parents[name] or "")
            node = QuotaNode(name, *_terms(snapshot.cohorts.get(name)), parent)
            cohorts[name] = node
            if node.parent:
                node.parent.cohorts.append(node)
        self.queues: dict[str, QuotaNode] = {}
        for name, queue in sorted(snapshot.cluster_queues.items()):
            parent = cohorts.get(queue.cohort or "")
            node = QuotaNode(name, *_terms(queue), parent)
            self.queues[name] = node
            if node.parent and name in active:
                node.parent.queues.append(node)
        _lift([*cohorts.values(), *self.queues.values()])

    @property
    def cohorts(self) -> Mapping[str, QuotaNode]:
        """Nodes of cohorts by name, each after the one above it."""
        return self._cohorts

    def update_quotas(self, snapshot: Snapshot) -> set[QuotaNode]:
        """Takes quotas and weights of a snapshot with the same queues and cohorts. Returns the roots of trees
        where any of them has changed: usage is to be added to these again."""
        terms = {node: _terms(snapshot.cohorts.get(name)) for name, node in self._cohorts.items()}
        terms |= {node: _terms(snapshot.cluster_queues[name]) for name, node in self.queues.items()}
        changed = {node.root for node, found in terms.items() if found != (node.quotas, node.weight)}
        reset = [node for node in terms if node.root in changed]
        for node in reset:
            node.reset(*terms[node])
        _lift(reset)
        return changed


def _terms(owner: ClusterQueue | Cohort | None) -> tuple[dict[FlavorResource, Quota], Fraction]:
    """Quotas, and the weight of its share; a cohort that is only named has none of its own."""
    return (quotas_of(owner.groups), owner.weight) if owner is not None else ({}, Fraction(1))


def quotas_of(groups: Iterable[ResourceGroup]) -> dict[FlavorResource, Quota]:
    return {
        FlavorResource(flavor.flavor, resource): quota
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    }


def _lift(nodes: list[QuotaNode]) -> None:
    """Sums subtree quotas and heights up the tree, deepest nodes first."""
    # A node lends what is left above its own lending limit, which is known once its children are summed up.
    for node in sorted(nodes, key=lambda node: -len(node.lineage)):
        node.settle()
        if node.cohorts or node.queues:
            node.height = 1 + max((child.height for child in node.cohorts), default=0)
        if node.parent:
            for fr, amount in node.subtree.items():
                lent = amount - node.local_quota(fr)
                node.parent.subtree[fr] = node.parent.subtree.get(fr, 0) + lent


def cohort_parents(snapshot: Snapshot) -> dict[str, str | None]:
    """Cohorts that are declared or only named, with their parents; names in order."""
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


def parents_first(parents: Mapping[str, str | None], cyclic: Container[str]) -> Iterator[str]:
    seen: set[str] = set()
    for start in parents:
        way = []
        name: str | None = start
        while name is not None and name not in seen and name not in cyclic:
            seen.add(name)
            way.append(name)
            name = parents[name]
        yield from reversed(way)
