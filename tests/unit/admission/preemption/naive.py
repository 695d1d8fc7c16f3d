"""Classical preemption the long way: every candidate of every queue is listed, and tried in turn."""

from itertools import takewhile
from typing import NamedTuple

from muster.admission import PreemptionReason
from muster.admission.preemption.ordering import satisfies
from muster.admission.preemption.search import TargetSearch
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Holding

OWN, RECLAIM = PreemptionReason.IN_CLUSTER_QUEUE, PreemptionReason.IN_COHORT_RECLAMATION
WHILE_BORROWING = PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING


class Candidate(NamedTuple):
    holding: Holding
    rank: int  # by hierarchy, by priority, of the own queue
    reason: PreemptionReason
    meets: QuotaNode  # where the ways of the two queues to the root meet


def naive_targets(search: TargetSearch) -> dict[str, PreemptionReason]:
    """Victims with the reasons, by key."""
    candidates = sorted(
        candidates_of(search),
        key=lambda item: (
            item.holding.evicted is False,
            item.holding.over_budget is False,
            item.rank,
            item.holding.order,
        ),
    )
    under = all(search.node.quota(fr).nominal > search.node.usage.get(fr, 0) for fr in search.contested)
    ranks = {candidate.rank for candidate in candidates}
    terms = search.queue.borrow_within_cohort
    if ranks <= {2} or (terms is None and not under):
        attempts = [True]
    elif terms is None and 0 not in ranks:
        attempts = [False, True]
    else:
        attempts = [True, False]
    for may_borrow in attempts:
        attempt = tried(search, candidates, may_borrow)
        if attempt:
            return attempt
    return {}


def candidates_of(search: TargetSearch) -> list[Candidate]:
    """All of the tree, by what Kueue says of each (classifyPreemptionVariant)."""
    return [
        candidate_holdings
        for held in search.state.holdings.values()
        for holding in held.values()
        if holding.uses(search.contested) and (candidate_holdings := classified(search, holding)) is not None
    ]


def classified(search: TargetSearch, holding: Holding) -> Candidate | None:
    if holding.node is search.node:
        allowed = satisfies(search.queue.within_queue, search.workload, holding.workload)
        return Candidate(holding, 2, OWN, search.node) if allowed else None
    meets = next((node for node in search.node.lineage if node in holding.node.lineage), None)
    if meets is None or not satisfies(search.queue.reclaim_within_cohort, search.workload, holding.workload):
        return None
    if not all(overuses(search, node) for node in below(holding, meets)):
        return None
    if has_advantage(search, meets):
        return Candidate(holding, 0, RECLAIM, meets)
    terms, priority = search.queue.borrow_within_cohort, holding.workload.priority
    threshold = None if terms is None else terms.priority_threshold_max
    lower = priority < search.workload.priority and (threshold is None or priority <= threshold)
    lower |= holding.over_budget and not search.workload.over_budget
    return Candidate(holding, 1, WHILE_BORROWING if terms and lower else RECLAIM, meets)


def below(holding: Holding, meets: QuotaNode) -> list[QuotaNode]:
    return list(takewhile(lambda node: node is not meets, holding.node.lineage))


def overuses(search: TargetSearch, node: QuotaNode) -> bool:
    return any(node.usage.get(fr, 0) > node.subtree.get(fr, 0) for fr in search.contested)


def has_advantage(search: TargetSearch, meets: QuotaNode) -> bool:
    """Returns whether some subtree of the preemptor below that one releases enough for it."""
    remaining = dict(search.needs)
    for node in takewhile(lambda node: node is not meets, search.node.lineage):
        if all(node.usage.get(fr, 0) + amount <= node.subtree.get(fr, 0) for fr, amount in remaining.items()):
            return True
        local_unused = {fr: max(0, node.local_quota(fr) - node.usage.get(fr, 0)) for fr in remaining}
        remaining = {fr: max(0, amount - local_unused[fr]) for fr, amount in remaining.items()}
    return False


def tried(search: TargetSearch, candidates: list[Candidate], may_borrow: bool) -> dict[str, PreemptionReason]:
    gone: list[Candidate] = []
    try:
        for candidate in candidates:
            if candidate.rank == 1 and may_borrow and candidate.reason is not WHILE_BORROWING:
                continue
            if not all(overuses(search, node) for node in below(candidate.holding, candidate.meets)):
                continue
            candidate.holding.node.remove(candidate.holding.usage)
            gone.append(candidate)
            if search.fits(may_borrow):
                for back in gone[-2::-1]:
                    back.holding.node.add(back.holding.usage)
                    if search.fits(may_borrow):
                        gone.remove(back)
                    else:
                        back.holding.node.remove(back.holding.usage)
                return {candidate.holding.workload.key: candidate.reason for candidate in gone}
        return {}
    finally:
        for candidate in gone:
            candidate.holding.node.add(candidate.holding.usage)
