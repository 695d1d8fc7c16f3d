"""Quota and targets of heads that wait for their targets, across the cycles of a pass.

As in Kueue, a target that is already evicted is the first choice of every later preemptor: of several equal
preemptors, one at a time has its targets evicted, which avoids needless evictions of gangs. Growth consists
of many small workloads, each of which would wait for the notice of the one before it, so surplus is nominated
as if earlier preemptors already had their quota, and claims other targets.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from muster.admission.cycle.entry import Entry
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState


class PendingClaims:
    """The heads that wait for their targets, by the root of their cohort tree, in order."""

    __slots__ = ("_by_root", "_state")

    def __init__(self, state: WorkingState) -> None:
        self._state = state
        self._by_root: dict[QuotaNode, list[Entry]] = {}

    def clear(self) -> None:
        """Forgets all heads: a new pass tries them again."""
        self._by_root.clear()

    def add(self, head: Entry) -> None:
        """Adds a head that waits for its targets."""
        self._by_root.setdefault(head.node.root, []).append(head)

    def affect(self, head: Entry) -> bool:
        """Returns whether the head is surplus, and another workload of its tree waits for targets."""
        return bool(head.workload.surplus_of) and head.node.root in self._by_root

    @contextmanager
    def settled(self, node: QuotaNode) -> Iterator[None]:
        """Simulates for the node's tree that the targets are gone, and that the heads have their quota."""
        heads = self._by_root.get(node.root, [])
        topologies = self._state.topologies()
        with self._state.absent(self._targets(heads)):
            for head in heads:
                head.node.add(head.usage)
                topologies.add(head.assignment.placed)
            try:
                yield
            finally:
                for head in heads:
                    head.node.remove(head.usage)
                    topologies.remove(head.assignment.placed)

    def _targets(self, heads: list[Entry]) -> dict[Holding, None]:
        """Returns the targets that still hold quota."""
        targets = dict.fromkeys(target.holding for head in heads for target in head.targets)
        held = self._state.holdings
        return {t: None for t in targets if held[t.node.name].get(t.workload.key) is t}
