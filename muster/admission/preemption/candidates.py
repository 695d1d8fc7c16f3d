"""Finds the queues with candidates for classical preemption, and the preemptor's claim to each.

Kueue: collectSameQueueCandidates and collectCandidatesForHierarchicalReclaim,
pkg/scheduler/preemption/classical.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum

from muster.admission.model import FlavorResource, PreemptionPolicy, PreemptionReason
from muster.admission.preemption.ordering import CandidateOrder, by_usage, candidate_order
from muster.admission.preemption.search import TargetSearch
from muster.admission.quota.tree import QuotaNode, Usage, borrowers
from muster.admission.state.holdings import Holding


class Claim(IntEnum):
    """The preemptor's claim to a candidate, in the order in which claims are tried."""

    HIERARCHY = 0  # the candidate uses quota of the preemptor's own subtree
    PRIORITY = 1  # only by the policies
    OWN_QUEUE = 2


Candidate = tuple[CandidateOrder, Holding, PreemptionReason]


class CandidateQueue:
    """A queue with candidates. `below` is its lineage below the lowest common cohort."""

    __slots__ = ("below", "claim", "queue")

    def __init__(self, queue: QuotaNode, claim: Claim, below: tuple[QuotaNode, ...]) -> None:
        self.queue = queue
        self.claim = claim
        self.below = below

    def candidates(self, search: TargetSearch, may_borrow: bool) -> Iterator[Candidate]:
        """Yields candidates with their sort keys over all queues.

        If the preemptor `may_borrow`, skips candidates that it may preempt only without borrowing.
        """
        # Skips the whole queue without reading its holdings.
        if may_borrow and self.claim is Claim.PRIORITY and search.queue.borrow_within_cohort is None:
            return
        claim = self.claim
        if search.usage_of is None:
            for holding in self.allowed(search):
                reason = _reason(search, claim, holding, may_borrow)
                if reason is not None:
                    yield candidate_order(holding, claim), holding, reason
            return
        holdings = list(self.allowed(search))
        orders = [candidate_order(holding, claim) for holding in holdings]
        by_recent_usage = by_usage(holdings, lambda _: claim, search.usage_of)
        for order, holding in zip(orders, by_recent_usage, strict=True):
            reason = _reason(search, claim, holding, may_borrow)
            if reason is not None:
                yield order, holding, reason

    def allowed(self, search: TargetSearch) -> Iterator[Holding]:
        """Iterates over holdings that the policy allows to preempt."""
        is_own = self.claim is Claim.OWN_QUEUE
        policy = search.queue.within_queue if is_own else search.queue.reclaim_within_cohort
        return search.allowed(self.queue, policy)

    def borrows(self, search: TargetSearch) -> bool:
        """Returns whether the queue uses quota of the common cohort, after the releases so far."""
        return not any(node.within_nominal(search.contested) for node in self.below)


def _reason(
    search: TargetSearch, claim: Claim, candidate: Holding, may_borrow: bool
) -> PreemptionReason | None:
    """Returns the reason of a preemption; None if the preemptor must not borrow to preempt the candidate."""
    if claim is Claim.OWN_QUEUE:
        return PreemptionReason.IN_CLUSTER_QUEUE
    if claim is Claim.PRIORITY and _preemptible_while_borrowing(search, candidate):
        return PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING
    if claim is Claim.HIERARCHY or not may_borrow:
        return PreemptionReason.IN_COHORT_RECLAMATION
    return None


def _preemptible_while_borrowing(search: TargetSearch, candidate: Holding) -> bool:
    """Returns whether borrowWithinCohort allows the preemptor to borrow and preempt this candidate."""
    terms = search.queue.borrow_within_cohort
    if terms is None or candidate.priority_rank >= search.workload.priority_rank:
        return False
    threshold = terms.priority_threshold_max
    return threshold is None or candidate.priority <= threshold or search.outranks(candidate)


def candidate_queues(search: TargetSearch) -> list[CandidateQueue]:
    """Returns the queues with candidates: the preemptor's own queue, then the borrowing queues of its
    cohorts, nearest cohort first."""
    sources = [CandidateQueue(search.node, Claim.OWN_QUEUE, ())]
    if search.queue.reclaim_within_cohort is not PreemptionPolicy.NEVER:
        sources += _in_cohort(search)
    # Without queues that have no candidate, as the attempts depend on the claims that are left.
    return [source for source in sources if next(source.allowed(search), None) is not None]


def under_nominal(search: TargetSearch) -> bool:
    """Returns whether the queue uses less than its nominal quota of every contested resource."""
    node = search.node
    return all(node.quota(fr).nominal > node.usage.get(fr, 0) for fr in search.contested)


def _in_cohort(search: TargetSearch) -> Iterator[CandidateQueue]:
    advantage, uncovered = _fits_subtree(search.node, search.needs)
    by_priority = search.queue.borrow_within_cohort is not None or under_nominal(search)
    visited = search.node
    for subtree in search.node.lineage[1:]:
        if advantage or by_priority:
            claim = Claim.HIERARCHY if advantage else Claim.PRIORITY
            for queue in _borrowing_queues(search, subtree, visited):
                yield CandidateQueue(queue, claim, queue.lineage[: -len(subtree.lineage)])
        # Only now: the quota of this cohort is an advantage over queues of higher cohorts, not over its own.
        fits, uncovered = _fits_subtree(subtree, uncovered)
        advantage = advantage or fits
        visited = subtree


def _fits_subtree(node: QuotaNode, needs: Usage) -> tuple[bool, Mapping[FlavorResource, int]]:
    """Returns whether the needs fit into the node's subtree quota, and the part that its local quota does not
    cover."""
    fits = not node.would_borrow(needs)
    return fits, {fr: max(0, amount - node.local_available(fr)) for fr, amount in needs.items()}


def _borrowing_queues(search: TargetSearch, subtree: QuotaNode, visited: QuotaNode) -> Iterator[QuotaNode]:
    """Yields the active queues below `subtree` that borrow, descending only into cohorts that borrow."""
    cohorts = [subtree]
    while cohorts:
        cohort = cohorts.pop()
        yield from (queue for queue in borrowers(cohort.queues, search.contested) if queue is not visited)
        cohorts += (child for child in borrowers(cohort.cohorts, search.contested) if child is not visited)
