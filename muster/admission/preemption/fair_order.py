"""From which queue a fair preemption takes its next victim.

Kueue: TargetClusterQueueOrdering, pkg/scheduler/preemption/fairsharing/ordering.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from muster.admission.preemption.ordering import candidate_order
from muster.admission.quota.share import DominantShare, dominant_share
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Holding


class TargetQueues:
    """Iterates over the queues that have candidates: each time down from the root, over whoever
    has the largest share of its cohort then.

    Whoever gets a queue has to `pop` a candidate of it or to `drop` it, or it comes again for ever.
    """

    __slots__ = ("_children", "_next", "_own", "_rest", "_shares")

    def __init__(self, own: QuotaNode, candidates: Mapping[QuotaNode, Iterable[Holding]]) -> None:
        """`own` is the preemptor's queue; candidates are popped queue by queue in the given order."""
        self._own = own
        self._rest = {queue: iter(holdings) for queue, holdings in candidates.items()}
        self._next: dict[QuotaNode, Holding] = {}
        self._children: dict[QuotaNode, list[QuotaNode]] = {}  # that may still have candidates
        self._shares: dict[QuotaNode, DominantShare] = {}  # until the next candidate below
        for queue in self._rest:
            self._advance(queue)
            if queue in self._next:
                self._connect(queue)

    def __bool__(self) -> bool:
        """Whether there are any candidates left."""
        return bool(self._next)

    def __iter__(self) -> Iterator[QuotaNode]:
        root = self._own.root
        while self._has_candidates(root):
            queue = self._descend(root)
            if queue is not None:
                yield queue

    def has_candidate(self, queue: QuotaNode) -> bool:
        return queue in self._next

    def pop(self, queue: QuotaNode) -> Holding:
        holding = self._next[queue]
        self._advance(queue)
        for node in queue.lineage:
            self._shares.pop(node, None)
        return holding

    def drop(self, queue: QuotaNode) -> None:
        """Leaves the rest of its candidates out."""
        self._next.pop(queue, None)

    def _advance(self, queue: QuotaNode) -> None:
        holding = next(self._rest[queue], None)
        if holding is None:
            self._next.pop(queue, None)
        else:
            self._next[queue] = holding

    def _connect(self, queue: QuotaNode) -> None:
        for child, parent in pairwise(queue.lineage):
            connected = parent in self._children
            self._children.setdefault(parent, []).append(child)
            if connected:
                return

    def _descend(self, node: QuotaNode) -> QuotaNode | None:
        """None if it came to a cohort that has no candidates any more, and is left out from now on."""
        while node not in self._rest:
            children = [child for child in self._children[node] if self._may_give(child)]
            self._children[node] = children
            if not children:
                return None
            node = self._first(children)
        return node

    def _has_candidates(self, node: QuotaNode) -> bool:
        return node in self._next or bool(self._children.get(node))

    def _may_give(self, node: QuotaNode) -> bool:
        """Nothing is taken from who borrows nothing, but on the way to the preemptor's own queue."""
        on_the_way = node in self._own.lineage
        return self._has_candidates(node) and (on_the_way or bool(self._share(node).borrowed))

    def _first(self, children: list[QuotaNode]) -> QuotaNode:
        """By share; then cohorts before queues, and queues in the order of their next candidates."""
        largest = max(self._share(child).share for child in children)
        tied = [child for child in children if self._share(child).share == largest]
        cohorts = [child for child in tied if child not in self._rest]
        if cohorts:
            return min(cohorts, key=lambda cohort: cohort.name)
        return min(tied, key=lambda queue: candidate_order(self._next[queue], int(queue is self._own)))

    def _share(self, node: QuotaNode) -> DominantShare:
        if node not in self._shares:
            self._shares[node] = dominant_share(node)
        return self._shares[node]
