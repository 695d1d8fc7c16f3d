"""Fair preemption: victims come from where more is borrowed than the preemptor will borrow.

Shares are compared where the ways of the two queues to the root part, with the preemptor's needs
counted as used. Kueue: fairPreemptions, pkg/scheduler/preemption/preemption.go, and its folder
fairsharing; rules S2-a and S2-b of its proposal 1714.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from muster.admission.model import FairSharing, FairStrategy, PreemptionPolicy, PreemptionReason
from muster.admission.preemption.ordering import by_usage, candidate_order
from muster.admission.preemption.search import Target, VictimSearch
from muster.admission.quota.share import DominantShare, Share, dominant_share
from muster.admission.quota.tree import QuotaNode, borrowers
from muster.admission.state.holdings import Holding


class TargetQueues:
    """Iterates over the queues that have candidates: each time down from the root, over the
    child with the largest share of its cohort then.

    The caller has to `pop` a candidate of each queue or to `drop` it, or it comes again for ever.
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
        """Returns the next queue; None at a cohort without candidates, which is left out from now on."""
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
        """Whether victims may come from the node: it borrows, or is on the way to the preemptor's own
        queue."""
        on_the_way = node in self._own.lineage
        return self._has_candidates(node) and (on_the_way or bool(self._share(node).borrowed))

    def _first(self, children: list[QuotaNode]) -> QuotaNode:
        """Picks by share; then cohorts before queues, and queues in the order of their next candidates."""
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


def fair_targets(search: VictimSearch, sharing: FairSharing) -> list[Target]:
    """A minimal set of holdings that makes room; empty if no set may."""
    queues = TargetQueues(search.node, _candidates(search))
    if not queues:
        return []
    releases = _Releases(search)
    # Shares are compared as they will be once the preemptor has its quota.
    search.node.add(search.needs)
    enough = releases.by_first_strategy(queues, sharing)
    if not enough and len(sharing.strategies) > 1:
        enough = releases.by_initial_share()
    # Before anything is given back: whether the workload fits is asked without its own needs.
    search.node.remove(search.needs)
    if not enough:
        search.restore(releases.targets)
        return []
    targets = search.give_back(releases.targets, search.fits)
    return targets if not sharing.only_lasting or _lasts(search, targets) else []


def _lasts(search: VictimSearch, targets: list[Target]) -> bool:
    """Whether no victim could undo it at once. Ours: Kueue may preempt back and forth for ever, as its
    rules look at the victims one after the other and not at what all of them leave behind.

    Back again, a victim's side has to have the larger share, and more than its nominal quota."""
    unfair = [t.holding for t in targets if t.reason is PreemptionReason.IN_COHORT_FAIR_SHARING]
    with search.state.without(target.holding for target in targets):
        search.node.add(search.needs)
        lasts = True
        for victim in unfair:
            mine, theirs = _sides(search.node, victim.node)
            search.state.restore(victim)
            entitled = victim.node.within_nominal(search.contested)
            lasts &= not entitled and dominant_share(theirs).share > dominant_share(mine).share
            search.state.release(victim)
        search.node.remove(search.needs)
    return lasts


def _candidates(search: VictimSearch) -> dict[QuotaNode, Iterable[Holding]]:
    """Candidates of the own queue by its policy, and of all queues of the tree that borrow what is
    contested."""
    found = {search.node: _in_order(search, search.node, search.queue.within_queue)}
    policy = search.queue.reclaim_within_cohort
    cohorts = [search.node.root] if policy is not PreemptionPolicy.NEVER else []
    while cohorts:
        cohort = cohorts.pop()
        cohorts += cohort.cohorts
        for queue in borrowers(cohort.queues, search.contested):
            if queue is not search.node:
                found[queue] = _in_order(search, queue, policy)
    return found


def _in_order(search: VictimSearch, queue: QuotaNode, policy: PreemptionPolicy) -> Iterable[Holding]:
    candidates = search.allowed(queue, policy)
    if search.usage_of is None:
        return candidates
    return by_usage(list(candidates), lambda _: 0, search.usage_of)


@dataclass(frozen=True, slots=True)
class _Releases:
    """Holdings that are released so far; if they are too few, the caller restores them."""

    search: VictimSearch
    targets: list[Target] = field(default_factory=list)
    spared: dict[QuotaNode, list[Holding]] = field(default_factory=dict)  # by the first strategy

    def by_first_strategy(self, queues: TargetQueues, sharing: FairSharing) -> bool:
        """Releases one after the other; says whether there is room then.

        Within its nominal quota a queue takes back what others borrow, whatever their shares."""
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
        """Releases of the spared, one a queue whose share is still the larger one: rule S2-b."""
        queues = TargetQueues(self.search.node, self.spared)
        for queue in queues:
            new, initial, _ = self._shares(queue)
            if new < initial and self._release_unfair(queues.pop(queue)):
                return True
            queues.drop(queue)
        return False

    def _unfair(self, queues: TargetQueues, queue: QuotaNode, strategy: FairStrategy) -> Holding | None:
        """The first candidate of the queue that the strategy lets go; those before it are spared."""
        new, initial, theirs = self._shares(queue)
        while queues.has_candidate(queue):
            holding = queues.pop(queue)
            if self._passes(holding, strategy, new, initial, theirs):
                return holding
            self.spared.setdefault(queue, []).append(holding)
        return None

    def _passes(
        self, holding: Holding, strategy: FairStrategy, new: Share, initial: Share, theirs: QuotaNode
    ) -> bool:
        if new > initial:
            return False  # nor is it more than the final share, which is at most the initial one
        if strategy is FairStrategy.LESS_THAN_INITIAL_SHARE:
            return new < initial
        with self.search.state.without((holding,)):
            return new <= dominant_share(theirs).share

    def _shares(self, queue: QuotaNode) -> tuple[Share, Share, QuotaNode]:
        """That of the preemptor's side with its needs, that of the queue's side now, and the latter."""
        mine, theirs = _sides(self.search.node, queue)
        return dominant_share(mine).share, dominant_share(theirs).share, theirs

    def _release_unfair(self, holding: Holding) -> bool:
        return self._release(holding, PreemptionReason.IN_COHORT_FAIR_SHARING)

    def _release(self, holding: Holding, reason: PreemptionReason) -> bool:
        """Whether there is room for the preemptor then, whose needs are counted as used meanwhile."""
        self.search.state.release(holding)
        self.targets.append(Target(holding, reason))
        self.search.node.remove(self.search.needs)
        fits = self.search.fits()
        self.search.node.add(self.search.needs)
        return fits


def _sides(one: QuotaNode, other: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
    """The children, on the ways of two queues, of the lowest cohort above both (Kueue: getAlmostLCAs)."""
    from_root = zip(reversed(one.lineage), reversed(other.lineage), strict=False)
    return next((mine, theirs) for mine, theirs in from_root if mine is not theirs)
