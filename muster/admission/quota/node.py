"""A node of the quota tree: what a ClusterQueue or a Cohort has, uses, may borrow and lend.

The rules are those of Kueue's pkg/cache/scheduler/resource_node.go. A node's subtree quota is
what it and its children bring in; the part above its lending limit stays at home (its local
quota), and only usage beyond the local quota counts at the parent.
"""

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from math import inf

from muster.admission.model import FlavorResource, Quota

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
                stored_in_parent = used - node._local.get(fr, 0)
                if stored_in_parent <= 0:
                    break
                amount = min(amount, stored_in_parent)

    def take_changed(self) -> set["QuotaNode"]:
        """Nodes below this root whose own usage has changed since the last call."""
        changed = self._changed
        if changed:
            self._changed = set()
        return changed

    def borrowing_with(self, fr: FlavorResource, amount: int) -> bool:
        return self.usage.get(fr, 0) + amount > self.subtree.get(fr, 0)

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
