"""Fair preemption: takes targets from queues and cohorts whose share exceeds the preemptor's.

Shares are compared just below the lowest common cohort of the two queues, with the preemptor's needs counted
as used. Kueue: fairPreemptions, pkg/scheduler/preemption/preemption.go, and its folder fairsharing; rules
S2-a and S2-b of its proposal 1714.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from muster.admission.model import FairSharing, FairStrategy, PreemptionPolicy, PreemptionReason
from muster.admission.preemption.ordering import by_usage, candidate_order
from muster.admission.preemption.search import Target, TargetSearch
from muster.admission.quota.share import DominantShare, Share, dominant_share
from muster.admission.quota.tree import QuotaNode, borrowers
from muster.admission.state.holdings import Holding


class TargetQueues:
    """Iterates over the queues with candidates. Each step descends from the root to the child with the
    largest share.

    The caller must `pop` a candidate of each queue or `drop` the queue: else the iteration never ends.
    """

    __slots__ = ("_candidates", "_children", "_next", "_own", "_shares")

    def __init__(self, own: QuotaNode, candidates: Mapping[QuotaNode, Iterable[Holding]]) -> None:
        """`own` is the preemptor's queue; `pop` returns a queue's candidates in the order of `candidates`."""
        self._own = own
        self._candidates = {queue: iter(holdings) for queue, holdings in candidates.items()}
        self._next: dict[QuotaNode, Holding] = {}
        self._children: dict[QuotaNode, list[QuotaNode]] = {}  # children that may still have candidates
        self._shares: dict[QuotaNode, DominantShare] = {}  # dropped with each candidate below the node
        for queue in self._candidates:
            self._advance(queue)
            if queue in self._next:
                self._connect(queue)

    def __bool__(self) -> bool:
        """Returns whether any candidates remain."""
        return bool(self._next)

    def __iter__(self) -> Iterator[QuotaNode]:
        root = self._own.root
        while self._has_candidates(root):
            queue = self._descend(root)
            if queue is not None:
                yield queue

    def has_candidate(self, queue: QuotaNode) -> bool:
        """Returns whether the queue still has a candidate."""
        return queue in self._next

    def pop(self, queue: QuotaNode) -> Holding:
        """Removes and returns the next target of a queue; discards the shares that this changes."""
        holding = self._next[queue]
        self._advance(queue)
        for node in queue.lineage:
            self._shares.pop(node, None)
        return holding

    def drop(self, queue: QuotaNode) -> None:
        """Skips the remaining candidates of the queue."""
        self._next.pop(queue, None)

    def _advance(self, queue: QuotaNode) -> None:
        holding = next(self._candidates[queue], None)
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
        """Returns the next queue; None at a cohort without candidates, which later calls skip."""
        while node not in self._candidates:
            children = [child for child in self._children[node] if self._may_have_targets(child)]
            self._children[node] = children
            if not children:
                return None
            node = self._largest(children)
        return node

    def _has_candidates(self, node: QuotaNode) -> bool:
        return node in self._next or bool(self._children.get(node))

    def _may_have_targets(self, node: QuotaNode) -> bool:
        """Returns whether targets may come from below the node: it borrows, or is the preemptor's queue or
        above it."""
        is_own_lineage = node in self._own.lineage
        return self._has_candidates(node) and (is_own_lineage or bool(self._share(node).borrowed))

    def _largest(self, children: list[QuotaNode]) -> QuotaNode:
        """Returns the child with the largest share; of equals, cohorts before queues, and queues in the order
        of their next candidates."""
        largest = max(self._share(child).share for child in children)
        tied = [child for child in children if self._share(child).share == largest]
        cohorts = [child for child in tied if child not in self._candidates]
        if cohorts:
            return min(cohorts, key=lambda cohort: cohort.name)
        return min(tied, key=lambda queue: candidate_order(self._next[queue], int(queue is self._own)))

    def _share(self, node: QuotaNode) -> DominantShare:
        if node not in self._shares:
            self._shares[node] = dominant_share(node)
        return self._shares[node]


def fair_targets(search: TargetSearch, sharing: FairSharing) -> list[Target]:
    """Returns a minimal set of targets with whose release the workload fits; empty if there is none. Gangs
    are targets only if all surplus does not suffice, and gangs within their budgets only if those over budget
    do not suffice either."""
    for narrowed in _narrowed(search):
        targets = _targets(narrowed, sharing)
        if targets:
            return targets
    return _targets(search, sharing)


def _narrowed(search: TargetSearch) -> Iterator[TargetSearch]:
    """Yields searches with fewer candidates, which are tried first."""
    if search.surplus_only:
        return
    if search.state.had_surplus:
        yield replace(search, surplus_only=True)
    if search.state.used_up and not search.workload.over_budget:
        yield replace(search, over_budget_only=True)


def _targets(search: TargetSearch, sharing: FairSharing) -> list[Target]:
    queues = TargetQueues(search.node, _candidates(search))
    if not queues:
        return []
    releases = _Releases(search)
    # Shares are compared as if the preemptor had its quota.
    search.node.add(search.needs)
    enough = releases.by_first_strategy(queues, sharing)
    if not enough and len(sharing.strategies) > 1:
        enough = releases.by_initial_share()
    # Before the restores below, which check whether the workload fits without its own needs.
    search.node.remove(search.needs)
    if not enough:
        search.restore(releases.targets)
        return []
    targets = search.restore_unneeded(releases.targets, search.fits)
    return targets if not sharing.only_lasting or _lasts(search, targets) else []


def _lasts(search: TargetSearch, targets: list[Target]) -> bool:
    """Returns whether no target could immediately preempt the preemptor in turn. Not in Kueue, which checks
    each target separately, not the state after all releases, and so may preempt back and forth endlessly.

    With the target restored, its side must have the larger share, and exceed its nominal quota."""
    unfair = [
        target.holding
        for target in targets
        # A target over budget cannot preempt the preemptor, whatever their shares are.
        if target.reason is PreemptionReason.IN_COHORT_FAIR_SHARING and not search.outranks(target.holding)
    ]
    with search.state.without(target.holding for target in targets):
        search.node.add(search.needs)
        lasts = True
        for holding in unfair:
            preemptor_side, target_side = _sides(search.node, holding.node)
            search.state.restore(holding)
            entitled = holding.node.within_nominal(search.contested)
            lasts &= not entitled and dominant_share(target_side).share > dominant_share(preemptor_side).share
            search.state.release(holding)
        search.node.remove(search.needs)
    return lasts


def _candidates(search: TargetSearch) -> dict[QuotaNode, Iterable[Holding]]:
    """Returns the candidates of the preemptor's queue, and of all queues of the tree that borrow contested
    resources."""
    candidates = {search.node: _in_order(search, search.node, search.queue.within_queue)}
    policy = search.queue.reclaim_within_cohort
    cohorts = [search.node.root] if policy is not PreemptionPolicy.NEVER else []
    while cohorts:
        cohort = cohorts.pop()
        cohorts += cohort.cohorts
        for queue in borrowers(cohort.queues, search.contested):
            if queue is not search.node:
                candidates[queue] = _in_order(search, queue, policy)
    return candidates


def _in_order(search: TargetSearch, queue: QuotaNode, policy: PreemptionPolicy) -> Iterable[Holding]:
    candidates = search.allowed(queue, policy)
    if search.usage_of is None:
        return candidates
    return by_usage(list(candidates), lambda _: 0, search.usage_of)


@dataclass(frozen=True, slots=True)
class _Releases:
    """Holdings released so far; if they do not suffice, the caller restores them."""

    search: TargetSearch
    targets: list[Target] = field(default_factory=list)
    skipped: dict[QuotaNode, list[Holding]] = field(default_factory=dict)  # by the first strategy

    def by_first_strategy(self, queues: TargetQueues, sharing: FairSharing) -> bool:
        """Releases candidates in order; returns whether the preemptor fits then.

        Within its nominal quota a queue reclaims what others borrow, regardless of shares. Neither do shares
        protect candidates over budget."""
        own = self.search.node
        entitled = sharing.preempt_within_nominal and own.within_nominal(self.search.contested)
        for queue in queues:
            if queue is own:
                enough = self._release(queues.pop(queue), PreemptionReason.IN_CLUSTER_QUEUE)
            elif entitled:
                enough = self._release(queues.pop(queue), PreemptionReason.IN_COHORT_RECLAMATION)
            else:
                holding = self._unfair(queues, queue, sharing.strategies[0])
                enough = holding is not None and self._release_unfair(holding)
            if enough:
                return True
        return False

    def by_initial_share(self) -> bool:
        """Releases one skipped candidate of each queue whose share is still larger: rule S2-b."""
        queues = TargetQueues(self.search.node, self.skipped)
        for queue in queues:
            new, initial, _ = self._shares(queue)
            if new < initial and self._release_unfair(queues.pop(queue)):
                return True
            queues.drop(queue)
        return False

    def _unfair(self, queues: TargetQueues, queue: QuotaNode, strategy: FairStrategy) -> Holding | None:
        """Returns the first candidate of the queue that the strategy allows to preempt; records those before
        it as skipped."""
        new, initial, target_side = self._shares(queue)
        while queues.has_candidate(queue):
            holding = queues.pop(queue)
            if self._allows(strategy, holding, new, initial, target_side):
                return holding
            self.skipped.setdefault(queue, []).append(holding)
        return None

    def _allows(
        self, strategy: FairStrategy, holding: Holding, new: Share, initial: Share, target_side: QuotaNode
    ) -> bool:
        if self.search.outranks(holding):
            return True
        if new > initial:
            return False  # the final share is at most the initial one
        if strategy is FairStrategy.LESS_THAN_INITIAL_SHARE:
            return new < initial
        with self.search.state.without((holding,)):
            return new <= dominant_share(target_side).share

    def _shares(self, queue: QuotaNode) -> tuple[Share, Share, QuotaNode]:
        """Returns the share of the preemptor's side with its needs, the current share of the queue's side,
        and the node of the latter."""
        preemptor_side, target_side = _sides(self.search.node, queue)
        return dominant_share(preemptor_side).share, dominant_share(target_side).share, target_side

    def _release_unfair(self, holding: Holding) -> bool:
        return self._release(holding, PreemptionReason.IN_COHORT_FAIR_SHARING)

    def _release(self, holding: Holding, reason: PreemptionReason) -> bool:
        """Releases the holding; returns whether the preemptor fits then, leaving its needs counted as
        used."""
        self.search.state.release(holding)
        self.targets.append(Target(holding, reason))
        self.search.node.remove(self.search.needs)
        fits = self.search.fits()
        self.search.node.add(self.search.needs)
        return fits


def _sides(preemptor: QuotaNode, target: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
    """Returns the children of the lowest common cohort of two queues that are above each (Kueue:
    getAlmostLCAs)."""
    from_root = zip(reversed(preemptor.lineage), reversed(target.lineage), strict=False)
    return next(sides for sides in from_root if sides[0] is not sides[1])
