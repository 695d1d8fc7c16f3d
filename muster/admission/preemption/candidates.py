"""Which queues have candidates for classical preemption, and what entitles the preemptor to them.

Kueue: collectSameQueueCandidates and collectCandidatesForHierarchicalReclaim,
pkg/scheduler/preemption/classical.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from muster.admission.model import FlavorResource, PreemptionPolicy, PreemptionReason
from muster.admission.preemption.ordering import CandidateOrder, by_usage, candidate_order
from muster.admission.preemption.search import VictimSearch
from muster.admission.quota.tree import QuotaNode, Usage, borrowers
from muster.admission.state.holdings import Holding


class Claim(IntEnum):
    """The preemptor's claim to a candidate, in the order in which they are tried."""

    HIERARCHY = 0  # the quota used is nearer to the preemptor: its own subtree brings it in
    PRIORITY = 1  # by the policies alone
    OWN_QUEUE = 2


Candidate = tuple[CandidateOrder, Holding, PreemptionReason]


@dataclass(frozen=True, slots=True)
class CandidateQueue:
    """A queue that has candidates."""

    queue: QuotaNode
    claim: Claim
    below: tuple[QuotaNode, ...]  # of its lineage, under the lowest cohort that holds both queues

    def candidates(self, search: VictimSearch, may_borrow: bool) -> Iterator[Candidate]:
        """Yields candidates with their places in the order over all queues.

        If the preemptor `may_borrow`, those that only go if it does not are left out.
        """
        # Then none of the queue gives way: its holdings need not be read.
        if may_borrow and self.claim is Claim.PRIORITY and search.queue.borrow_within_cohort is None:
            return
        for order, holding in self._in_order(search):
            if self.claim is Claim.OWN_QUEUE:
                yield order, holding, PreemptionReason.IN_CLUSTER_QUEUE
            elif self.claim is Claim.PRIORITY and _gives_way(search, holding):
                yield order, holding, PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING
            elif self.claim is Claim.HIERARCHY or not may_borrow:
                yield order, holding, PreemptionReason.IN_COHORT_RECLAMATION

    def allowed(self, search: VictimSearch) -> Iterator[Holding]:
        """Yields holdings that the policy allows to preempt."""
        of_own = self.claim is Claim.OWN_QUEUE
        policy = search.queue.within_queue if of_own else search.queue.reclaim_within_cohort
        return search.allowed(self.queue, policy)

    def _in_order(self, search: VictimSearch) -> Iterator[tuple[CandidateOrder, Holding]]:
        if search.usage_of is None:
            for holding in self.allowed(search):
                yield candidate_order(holding, self.claim), holding
            return
        found = list(self.allowed(search))
        places = [candidate_order(holding, self.claim) for holding in found]
        yield from zip(places, by_usage(found, lambda _: self.claim, search.usage_of), strict=True)

    def borrows(self, search: VictimSearch) -> bool:
        """Whether its quota comes from the common cohort, after the releases so far."""
        return not any(node.within_nominal(search.contested) for node in self.below)


def _gives_way(search: VictimSearch, candidate: Holding) -> bool:
    """Whether borrowWithinCohort lets the preemptor borrow while this candidate goes."""
    terms, priority = search.queue.borrow_within_cohort, candidate.priority
    if terms is None or priority >= search.workload.priority:
        return False
    return terms.priority_threshold_max is None or priority <= terms.priority_threshold_max


def candidate_queues(search: VictimSearch) -> list[CandidateQueue]:
    """The preemptor's own queue, and from the nearest cohort up those that borrow there."""
    found = [CandidateQueue(search.node, Claim.OWN_QUEUE, ())]
    if search.queue.reclaim_within_cohort is not PreemptionPolicy.NEVER:
        found += _in_cohort(search)
    # Only those with a candidate: classical preemption goes by the claims that there are.
    return [source for source in found if next(source.allowed(search), None) is not None]


def under_nominal(search: VictimSearch) -> bool:
    """Whether the queue uses less than its own of everything contested."""
    node = search.node
    return all(node.quota(fr).nominal > node.usage.get(fr, 0) for fr in search.contested)


def _in_cohort(search: VictimSearch) -> Iterator[CandidateQueue]:
    advantage, rest = _fits_subtree(search.node, search.needs)
    by_priority = search.queue.borrow_within_cohort is not None or under_nominal(search)
    seen = search.node
    for subtree in search.node.lineage[1:]:
        if advantage or by_priority:
            claim = Claim.HIERARCHY if advantage else Claim.PRIORITY
            for queue in _borrowing_queues(search, subtree, seen):
                yield CandidateQueue(queue, claim, queue.lineage[: -len(subtree.lineage)])
        # After its queues: what this cohort brings in is an advantage over those above it only.
        fits, rest = _fits_subtree(subtree, rest)
        advantage = advantage or fits
        seen = subtree


def _fits_subtree(node: QuotaNode, needs: Usage) -> tuple[bool, Mapping[FlavorResource, int]]:
    """Whether the node's subtree quota holds it, and what its local quota leaves to the parent."""
    fits = not node.would_borrow(needs)
    return fits, {fr: max(0, amount - node.local_available(fr)) for fr, amount in needs.items()}


def _borrowing_queues(search: VictimSearch, subtree: QuotaNode, seen: QuotaNode) -> Iterator[QuotaNode]:
    """The active queues that use more than their own, reached only over cohorts that do so too."""
    cohorts = [subtree]
    while cohorts:
        cohort = cohorts.pop()
        yield from (queue for queue in borrowers(cohort.queues, search.contested) if queue is not seen)
        cohorts += (child for child in borrowers(cohort.cohorts, search.contested) if child is not seen)
