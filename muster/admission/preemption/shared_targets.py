"""Victims that one search of a cycle has found for others: heads of many queues want the same ones.

Where quota is freed a little at a time, the heads of all queues below their nominal quota want it back from
the queue that has just borrowed it, cycle after cycle.
"""

from muster.admission.model import FlavorResource, PreemptionPolicy
from muster.admission.preemption.classical import classical_targets
from muster.admission.preemption.ordering import below
from muster.admission.preemption.search import Target, VictimSearch
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Precedence, precedence

_Claim = tuple[QuotaNode, frozenset[tuple[FlavorResource, int]], Precedence]
"""The cohort, what is needed, and the precedence below which it may be reclaimed."""


class SharedTargets:
    """Targets of searches by classical preemption that start from the same state.

    A head that stays within the nominal quota of its queue reclaims what others of its cohort borrow.
    Candidates of its own queue come behind these (Claim.OWN_QUEUE), and its own limits do not bind it: until
    then the search of another such queue in the cohort takes the same steps."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[_Claim, list[Target]] = {}

    def find(self, search: VictimSearch) -> list[Target]:
        """Returns what `classical_targets` does."""
        claim = _claim(search)
        if claim is None:
            return classical_targets(search)
        found = self._found.get(claim)
        if found is None:
            found = classical_targets(search)
            # The last one is the one whose release made room: if it is another queue's, so are all before it.
            if found and found[-1].holding.node is not search.node:
                self._found[claim] = found
        return found


def _claim(search: VictimSearch) -> _Claim | None:
    """Returns what the victims depend on if those of its own queue do not matter; None if they may."""
    node, queue = search.node, search.queue
    cohort, policy = node.parent, queue.reclaim_within_cohort
    if cohort is None or policy is PreemptionPolicy.NEVER or queue.borrow_within_cohort is not None:
        return None
    if search.usage_of is not None or search.placed is not None or search.contested != search.needs.keys():
        return None
    for fr, amount in search.needs.items():
        if node.borrowing_with(fr, amount) or node.local_quota(fr):
            return None
    own = next(search.allowed(node, queue.within_queue), None)
    if own is not None and own.evicted:  # those that leave anyway come first, in whatever queue
        return None
    bound = below(policy, precedence(search.workload), search.rules.preemption_buffer_ms)
    return cohort, frozenset(search.needs.items()), bound
