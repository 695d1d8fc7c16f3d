"""Whether victims could make room: a bound, cheap and sound.

Only what is available and what the own queue may preempt can help a workload, unless it would stay
within the quota of its queue or of a cohort below the root: then it may reclaim what others borrow.
It mirrors candidates and attempts of classical.py; where it cannot tell, victims are searched.
"""

from math import inf

from muster.admission.model import ClusterQueue, FlavorResource, PreemptionPolicy, Rules, Workload
from muster.admission.preemption.ordering import below
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import QueueHoldings


class PreemptionBound:
    """The bound for a workload, or for an equivalence group, in the queue at `node`.

    What is bounded is the use at the root of the tree: the rest changes only with what happens in the
    queue and in the cohorts between, and is to be forgotten then."""

    __slots__ = ("_holdings", "_lower", "_node", "_own", "_reclaims", "_unbounded")

    def __init__(
        self,
        node: QuotaNode,
        queue: ClusterQueue,
        holdings: QueueHoldings,
        rules: Rules,
        alike: Workload,
    ) -> None:
        self._node = node
        self._holdings = holdings
        self._lower = below(queue.within_queue, (alike.priority, inf), 0)  # however long it waits
        self._reclaims = queue.reclaim_within_cohort is not PreemptionPolicy.NEVER
        self._unbounded = bool(alike.replaces) or (
            self._reclaims and (rules.fair_sharing is not None or queue.borrow_within_cohort is not None)
        )
        self._own: dict[FlavorResource, int] = {}  # what the own queue may preempt

    def forget(self) -> None:
        self._own.clear()

    def most_used(self, fr: FlavorResource, amount: int) -> float:
        """The usage at the root up to which so much more may fit by any means."""
        if self._unbounded:
            return inf
        amount -= self._preemptible_in_queue(fr)
        return inf if self._may_reclaim(fr, amount) else self.most_used_to_fit(fr, amount)

    def most_used_to_fit(self, fr: FlavorResource, amount: int) -> float:
        """The same without preemption."""
        node = self._node
        more, most = node.headroom(fr)
        return node.root.subtree.get(fr, 0) + more - amount if amount <= most else -inf

    def has(self, fr: FlavorResource, amount: int) -> bool:
        """Whether so much more may fit now."""
        return self._node.root.usage.get(fr, 0) <= self.most_used(fr, amount)

    def _may_reclaim(self, fr: FlavorResource, amount: int) -> bool:
        if self._reclaims:
            for node in self._node.lineage[:-1]:
                if not node.borrowing_with(fr, amount):
                    return True
                amount -= node.local_available(fr)
        return False

    def _preemptible_in_queue(self, fr: FlavorResource) -> int:
        own = self._own.get(fr)
        if own is None:
            lower = self._holdings.below(self._lower, frozenset((fr,)))
            own = self._own[fr] = sum(held.usage.get(fr, 0) for held in lower)
        return own
