"""Whom to preempt for a workload that does not fit: Kueue's classical preemption.

Candidates are removed in order until the workload fits; then, in reverse, those that turn out
not to be needed are given back, so that the set of victims is minimal. The rules are those of
pkg/scheduler/preemption and its folder classical.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile

from muster.admission.cycle.state import Holding, WorkingState
from muster.admission.flavors.assigner import Grade, Mode
from muster.admission.model import (
    ClusterQueue,
    FlavorResource,
    PreemptionPolicy,
    PreemptionReason,
    Workload,
)
from muster.admission.queueing.order import candidate_order
from muster.admission.quota.tree import QuotaNode, Usage


@dataclass(frozen=True, slots=True)
class Target:
    """A holding that has to leave, and what entitles the preemptor to it."""

    holding: Holding
    reason: PreemptionReason


class _Claim(IntEnum):
    """What entitles the preemptor to a candidate, in the order in which they are tried."""

    HIERARCHY = 0  # the quota used is nearer to the preemptor: its own subtree brings it in
    PRIORITY = 1  # by the policy alone, and only if the preemptor does not borrow for it
    OWN_QUEUE = 2


@dataclass(frozen=True, slots=True)
class _Candidate:
    holding: Holding
    claim: _Claim
    subtree: QuotaNode  # the lowest one that holds both queues; the queue itself for its own

    @property
    def target(self) -> Target:
        own = self.claim is _Claim.OWN_QUEUE
        reason = PreemptionReason.IN_CLUSTER_QUEUE if own else PreemptionReason.IN_COHORT_RECLAMATION
        return Target(self.holding, reason)


@dataclass(frozen=True, slots=True)
class Preemptor:
    """A workload of an active queue that looks for victims."""

    state: WorkingState
    workload: Workload
    queue: ClusterQueue
    node: QuotaNode

    def simulate(self, fr: FlavorResource, needed: int) -> Grade:
        """What preemption could reach for one resource alone (Kueue: PreemptionOracle)."""
        targets = self.targets({fr: needed}, {fr})
        with self.state.without(target.holding for target in targets):
            level, _ = self.node.borrowing_level(fr, needed)
        if not targets:
            return Grade(Mode.NO_CANDIDATES, level)
        own = any(target.holding.node is self.node for target in targets)
        return Grade(Mode.PREEMPT if own else Mode.RECLAIM, level)

    def targets(self, needs: Usage, contested: Collection[FlavorResource]) -> list[Target]:
        """A minimal set that makes room for `needs`; empty if no set may.

        Only holdings that use a contested resource are considered.
        """
        candidates = self._candidates(needs, contested)
        for may_borrow in self._attempts(candidates, contested):
            chosen = self._remove_until_fit(candidates, needs, contested, may_borrow)
            if chosen:
                return [candidate.target for candidate in chosen]
        return []

    def _attempts(
        self, candidates: Collection[_Candidate], contested: Collection[FlavorResource]
    ) -> tuple[bool, ...]:
        """Whether the preemptor may borrow, in the order to try it."""
        claims = {candidate.claim for candidate in candidates}
        under_nominal = all(self.node.quota(fr).nominal > self.node.usage.get(fr, 0) for fr in contested)
        if not under_nominal or claims <= {_Claim.OWN_QUEUE}:
            return (True,)
        return (True, False) if _Claim.HIERARCHY in claims else (False, True)

    def _remove_until_fit(
        self,
        candidates: Collection[_Candidate],
        needs: Usage,
        contested: Collection[FlavorResource],
        may_borrow: bool,
    ) -> list[_Candidate]:
        removed: list[_Candidate] = []
        for candidate in candidates:
            if not self._is_valid(candidate, contested, may_borrow):
                continue
            candidate.holding.node.remove(candidate.holding.usage)
            removed.append(candidate)
            if self._fits(needs, may_borrow):
                return self._give_back(removed, needs, may_borrow)
        for candidate in removed:
            candidate.holding.node.add(candidate.holding.usage)
        return []

    def _give_back(self, removed: list[_Candidate], needs: Usage, may_borrow: bool) -> list[_Candidate]:
        """Those of the removed that are needed; leaves the quota as it was before any was removed."""
        needed = removed[-1:]  # without the last one it did not fit
        for candidate in reversed(removed[:-1]):
            candidate.holding.node.add(candidate.holding.usage)
            if not self._fits(needs, may_borrow):
                candidate.holding.node.remove(candidate.holding.usage)
                needed.append(candidate)
        for candidate in needed:
            candidate.holding.node.add(candidate.holding.usage)
        return needed[::-1]

    def _fits(self, needs: Usage, may_borrow: bool) -> bool:
        if not may_borrow and any(self.node.borrowing_with(fr, amount) for fr, amount in needs.items()):
            return False
        return self.node.fits(needs)

    def _is_valid(
        self, candidate: _Candidate, contested: Collection[FlavorResource], may_borrow: bool
    ) -> bool:
        """Whether, after the removals so far, its quota is still borrowed from the common subtree."""
        if candidate.claim is _Claim.OWN_QUEUE:
            return True
        if candidate.claim is _Claim.PRIORITY and may_borrow:
            return False
        below = takewhile(lambda node: node is not candidate.subtree, candidate.holding.node.lineage)
        return not any(node.within_nominal(contested) for node in below)

    def _candidates(self, needs: Usage, contested: Collection[FlavorResource]) -> list[_Candidate]:
        found = [
            _Candidate(holding, _Claim.OWN_QUEUE, self.node)
            for holding in self._allowed(self.node, self.queue.within_queue, contested)
        ]
        if self.queue.reclaim_within_cohort is not PreemptionPolicy.NEVER:
            found += self._in_cohort(needs, contested)
        return sorted(found, key=lambda found: candidate_order(found.holding, found.claim))

    def _in_cohort(self, needs: Usage, contested: Collection[FlavorResource]) -> Iterator[_Candidate]:
        """From the nearest cohort up: who borrows there (Kueue: collectCandidatesForHierarchicalReclaim)."""
        advantage, rest = _fits_subtree(self.node, needs)
        below = self.node
        for subtree in self.node.lineage[1:]:
            claim = _Claim.HIERARCHY if advantage else _Claim.PRIORITY
            for queue in _borrowing_queues(subtree, below, contested):
                for holding in self._allowed(queue, self.queue.reclaim_within_cohort, contested):
                    yield _Candidate(holding, claim, subtree)
            fits, rest = _fits_subtree(subtree, rest)
            advantage = advantage or fits
            below = subtree

    def _allowed(
        self, node: QuotaNode, policy: PreemptionPolicy, contested: Collection[FlavorResource]
    ) -> Iterator[Holding]:
        for holding in self.state.holdings[node.name].values():
            if satisfies(policy, self.workload, holding.workload) and holding.uses(contested):
                yield holding


def satisfies(policy: PreemptionPolicy, preemptor: Workload, candidate: Workload) -> bool:
    """Whether the policy lets the one preempt the other (Kueue: SatisfiesPreemptionPolicy)."""
    lower = candidate.priority < preemptor.priority
    match policy:
        case PreemptionPolicy.NEVER:
            return False
        case PreemptionPolicy.LOWER_PRIORITY:
            return lower
        case PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY:
            equal = candidate.priority == preemptor.priority
            return lower or (equal and preemptor.queued_at_ms < candidate.queued_at_ms)
    return True


def _fits_subtree(node: QuotaNode, needs: Usage) -> tuple[bool, dict[FlavorResource, int]]:
    """Whether the node's subtree quota holds it, and what its local quota leaves to the parent."""
    fits = not any(node.borrowing_with(fr, amount) for fr, amount in needs.items())
    return fits, {fr: max(0, amount - node.local_available(fr)) for fr, amount in needs.items()}


def _borrowing_queues(
    subtree: QuotaNode, below: QuotaNode, contested: Collection[FlavorResource]
) -> Iterator[QuotaNode]:
    """The active queues that use more than their own, reached only over cohorts that do so too."""
    cohorts = [subtree]
    while cohorts:
        cohort = cohorts.pop()
        yield from (queue for queue in cohort.queues if _borrows(queue, below, contested))
        cohorts += (child for child in cohort.cohorts if _borrows(child, below, contested))


def _borrows(node: QuotaNode, below: QuotaNode, contested: Collection[FlavorResource]) -> bool:
    return node is not below and not node.within_nominal(contested)
