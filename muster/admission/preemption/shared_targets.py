"""Shares targets between searches of a cycle, as heads of many queues often have the same targets.

When quota is released in small amounts, the heads of all queues below their nominal quota reclaim it from the
queue that last borrowed it, in every cycle.
"""

from muster.admission.model import FlavorResource, PreemptionPolicy
from muster.admission.preemption.classical import classical_targets
from muster.admission.preemption.ordering import below, comes_first
from muster.admission.preemption.search import Target, TargetSearch
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Precedence, precedence

_Claim = tuple[QuotaNode, frozenset[tuple[FlavorResource, int]], Precedence]
"""The cohort, the needed quota, and the precedence below which it may be reclaimed."""


class SharedTargets:
    """Targets of classical preemption for searches that start from the same state.

    A head that stays within the nominal quota of its queue reclaims what other queues of its cohort borrow.
    Candidates in its queue come last (Claim.OWN_QUEUE), and its queue's limits do not apply: before these
    candidates, the search takes the same steps for every such queue of the cohort."""

    __slots__ = ("_targets",)

    def __init__(self) -> None:
        self._targets: dict[_Claim, list[Target]] = {}

    def find(self, search: TargetSearch) -> list[Target]:
        """Returns the same as `classical_targets`."""
        claim = _claim(search)
        if claim is None:
            return classical_targets(search)
        targets = self._targets.get(claim)
        if targets is None:
            targets = classical_targets(search)
            # If the target that was released last is in another queue, so are all before it.
            if targets and targets[-1].holding.node is not search.node:
                self._targets[claim] = targets
        return targets


def _claim(search: TargetSearch) -> _Claim | None:
    """Returns the key of searches with the same targets; None if holdings in its queue may matter."""
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
    if own is not None and comes_first(own):
        return None
    bound = below(policy, precedence(search.workload), search.rules.preemption_buffer_ms)
    return cohort, frozenset(search.needs.items()), bound
