"""Quota and targets of heads that wait for their targets, across the cycles of a pass.

As in Kueue, a target that is already evicted is the first choice of every later preemptor: of several equal
preemptors, one at a time has its targets evicted, which avoids needless evictions of gangs. Surplus has a
notice, for which each preemptor would wait in turn. So heads that preempt only surplus are nominated as if
earlier preemptors already had their quota, and claim other surplus. Growth preempts nothing else.

A head claims for all workloads that are equivalent to it, as many times as there are.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from muster.admission.cycle.entry import Entry
from muster.admission.model import Workload
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState


class PendingClaims:
    """The heads that wait for their targets, by the root of their cohort tree, in order, with the number of
    the cycle that has added them."""

    __slots__ = ("_by_root", "_of_surplus", "_state")

    def __init__(self, state: WorkingState) -> None:
        self._state = state
        self._by_root: dict[QuotaNode, list[tuple[int, Entry]]] = {}
        self._of_surplus: set[QuotaNode] = set()  # roots of trees in which a head waits for surplus

    def clear(self) -> None:
        """Forgets all heads: a new pass tries them again."""
        self._by_root.clear()
        self._of_surplus.clear()

    def add(self, head: Entry, cycle: int) -> None:
        """Adds a head of the cycle that waits for its targets."""
        self._by_root.setdefault(head.node.root, []).append((cycle, head))
        if any(target.holding.workload.surplus_of for target in head.targets):
            self._of_surplus.add(head.node.root)

    def affect(self, workload: Workload, node: QuotaNode) -> bool:
        """Returns whether others in the tree of the workload's queue wait for targets: for a gang only if
        these include surplus."""
        return node.root in (self._by_root if workload.surplus_of else self._of_surplus)

    def remaining(self, head: Entry) -> int:
        """Returns for how many workloads that are equivalent to the head it has not claimed quota yet."""
        claims = self._by_root.get(head.node.root, ())
        return head.copies - sum(other.workload.key == head.workload.key for _, other in claims)

    @contextmanager
    def settled(self, node: QuotaNode, cycle: int) -> Iterator[None]:
        """Simulates for the node's tree that the targets of the cycles before this one are gone, and that
        their heads have their quota. What this cycle has claimed is in its own reservations."""
        heads = [head for number, head in self._by_root.get(node.root, ()) if number < cycle]
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
