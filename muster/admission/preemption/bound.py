"""A cheap upper bound on what preemption can free: it never rules out a workload that could fit.

A workload can use what is available and what may be preempted in its own queue. If it stays within the quota
of its queue, or of a cohort below the root, it may also reclaim what others borrow. The bound mirrors the
candidates and attempts of classical.py; if it is undecided, a search for targets decides.
"""

from math import inf

from muster.admission.model import ClusterQueue, FlavorResource, PreemptionPolicy, Rules, Workload
from muster.admission.preemption.ordering import preemptible
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import QueueHoldings


class PreemptionBound:
    """The bound for a workload, or for an equivalence group, in the queue at `node`.

    It limits the usage at the root of the tree. It depends also on the queue and on the cohorts between it
    and the root."""

    __slots__ = ("_holdings", "_node", "_policy", "_precedence", "_reclaims", "_unbounded")

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
        self._policy = queue.within_queue
        self._precedence = (alike.priority_rank, inf)  # for any waiting time
        self._reclaims = queue.reclaim_within_cohort is not PreemptionPolicy.NEVER
        self._unbounded = bool(alike.replaces) or (
            self._reclaims and (rules.fair_sharing is not None or queue.borrow_within_cohort is not None)
        )

    def most_used(self, fr: FlavorResource, amount: int) -> float:
        """Returns the usage at the root up to which `amount` more may fit, with preemption."""
        if self._unbounded:
            return inf
        amount -= self._preemptible_in_queue(fr)
        return inf if self._may_reclaim(fr, amount) else self.most_used_to_fit(fr, amount)

    def most_used_to_fit(self, fr: FlavorResource, amount: int) -> float:
        """Returns the usage at the root up to which `amount` more fits without preemption."""
        node = self._node
        more, most = node.headroom(fr)
        return node.root.subtree.get(fr, 0) + more - amount if amount <= most else -inf

    def has(self, fr: FlavorResource, amount: int) -> bool:
        """Returns whether `amount` more may fit now."""
        return self._node.root.usage.get(fr, 0) <= self.most_used(fr, amount)

    def _may_reclaim(self, fr: FlavorResource, amount: int) -> bool:
        if self._reclaims:
            for node in self._node.lineage[:-1]:
                if not node.borrowing_with(fr, amount):
                    return True
                amount -= node.local_available(fr)
        return False

    def _preemptible_in_queue(self, fr: FlavorResource) -> int:
        # All groups of a queue have its policy, and most have one of a few priorities.
        key = self._precedence[0], fr
        own = self._holdings.preemptible.get(key)
        if own is None:
            lower = preemptible(self._holdings, self._policy, self._precedence, frozenset((fr,)), is_own=True)
            own = self._holdings.preemptible[key] = sum(holding.usage.get(fr, 0) for holding in lower)
        return own
