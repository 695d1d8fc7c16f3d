"""Preemption targets that heads of a cycle have claimed, and the quota that their release would free.

Kueue: PreemptedWorkloads in pkg/scheduler/preemption, which the snapshot removes for the check of each head.
"""

from collections.abc import Iterable

from muster.admission.model import FlavorResource
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Holding
from muster.admission.state.state import Released, WorkingState
from muster.admission.topology import TopologyUsage

UsageByNode = dict[QuotaNode, dict[FlavorResource, int]]
_NOTHING: dict[FlavorResource, int] = {}


class ClaimedTargets:
    """The claimed targets of a cycle.

    A cohort may have hundreds, and every later head is checked as if all were released. Their usage is
    therefore summed by node."""

    __slots__ = ("_by_root", "_placed", "_state", "_usage")

    def __init__(self, state: WorkingState) -> None:
        self._state = state
        self._by_root: dict[QuotaNode, dict[Holding, None]] = {}
        self._placed: dict[Holding, None] = {}  # the targets that use nodes of a topology
        self._usage: dict[QuotaNode, UsageByNode] = {}  # by root

    def __bool__(self) -> bool:
        return bool(self._by_root)

    def __contains__(self, holding: Holding) -> bool:
        return holding in self._by_root.get(holding.node.root, ())

    def add(self, holding: Holding) -> None:
        """Adds a target. It must not be a claimed one."""
        self._by_root.setdefault(holding.node.root, {})[holding] = None
        if holding.placed:
            self._placed[holding] = None
        self._sum(holding, 1)

    def discard(self, holding: Holding) -> None:
        """Removes a claimed target; its usage must be as it was when the target was added."""
        del self._by_root[holding.node.root][holding]
        self._placed.pop(holding, None)
        self._sum(holding, -1)

    def _sum(self, holding: Holding, sign: int) -> None:
        root = holding.node.root
        sums = self._usage.setdefault(root, {})
        # Ancestors count all usage below them, unless a lending limit withholds quota: then it depends on the
        # other usage, and only the queues have sums.
        for node in (holding.node,) if root.withholds_quota else holding.node.lineage:
            usage = sums.setdefault(node, {})
            for fr, amount in holding.usage.items():
                if amount:  # ancestors do not count a usage of 0
                    usage[fr] = usage.get(fr, 0) + sign * amount

    def affects(self, node: QuotaNode) -> bool:
        """Returns whether a target uses quota of the node's tree, or nodes of a topology."""
        return bool(self._placed or self._by_root.get(node.root))

    def affecting(self, node: QuotaNode) -> list[Holding]:
        """Returns the targets that use quota of the node's tree, or nodes of a topology."""
        of_tree = self._by_root.get(node.root, {})
        return [*of_tree, *(holding for holding in self._placed if holding not in of_tree)]

    def released(self, node: QuotaNode, own: Iterable[Holding]) -> "ReleasedTargets":
        """Simulates inside `with` that the claimed targets, and a head's own, have released quota and nodes.

        Inside, only the usage of this node and of its ancestors is valid."""
        # Another head may have claimed the same target.
        unclaimed = self._state.without([holding for holding in own if holding not in self])
        nodes_in_use = [usage for holding in self._placed for usage in holding.placed]
        return ReleasedTargets(self._state, node, unclaimed, self._usage.get(node.root, {}), nodes_in_use)


class ReleasedTargets:
    """Simulates inside `with` that targets have released quota and nodes: `unclaimed` ones, and claimed ones
    with these sums of usage."""

    __slots__ = ("_node", "_nodes_in_use", "_state", "_sums", "_unclaimed")

    def __init__(
        self,
        state: WorkingState,
        node: QuotaNode,
        unclaimed: Released,
        sums: UsageByNode,
        nodes_in_use: list[TopologyUsage],
    ) -> None:
        self._state = state
        self._node = node
        self._unclaimed = unclaimed
        self._sums = sums
        self._nodes_in_use = nodes_in_use

    def __enter__(self) -> None:
        self._unclaimed.__enter__()
        if self._nodes_in_use:
            self._state.topologies().remove(self._nodes_in_use)
        _release(self._sums, self._node)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        _restore(self._sums, self._node)
        if self._nodes_in_use:
            self._state.topologies().add(self._nodes_in_use)
        self._unclaimed.__exit__(kind, error, traceback)


def _release(sums: UsageByNode, node: QuotaNode) -> None:
    if node.root.withholds_quota:
        for queue, usage in sums.items():
            queue.remove(usage)
    else:
        for counted in node.lineage:
            for fr, amount in sums.get(counted, _NOTHING).items():
                counted.usage[fr] -= amount


def _restore(sums: UsageByNode, node: QuotaNode) -> None:
    if node.root.withholds_quota:
        for queue, usage in sums.items():
            queue.add(usage)
    else:
        for counted in node.lineage:
            for fr, amount in sums.get(counted, _NOTHING).items():
                counted.usage[fr] += amount
