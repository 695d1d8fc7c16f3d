"""Classical preemption: by priority, and by how near the quota is that a candidate uses.

Candidates are released in order until the workload fits; then, in reverse, those that turn out not
to be needed are given back, so that the set of victims is minimal. The rules are those of Kueue's
classicalPreemptions, pkg/scheduler/preemption/preemption.go, and its folder classical.
"""

from collections.abc import Collection, Iterator
from functools import partial
from heapq import heapify, heappop, heapreplace
from itertools import islice

from muster.admission.preemption.candidates import CandidateQueue, Claim, candidate_queues, under_nominal
from muster.admission.preemption.search import Target, VictimSearch


def classical_targets(search: VictimSearch) -> list[Target]:
    """A minimal set of holdings that makes room; empty if no set may."""
    found = candidate_queues(search)
    for may_borrow in _attempts(search, found):
        targets = None if may_borrow else _own_quota_first(search, found)
        if targets is None:
            targets = _release_until_fit(search, found, may_borrow)
        if targets:
            return targets
    return []


def _attempts(search: VictimSearch, found: Collection[CandidateQueue]) -> tuple[bool, ...]:
    """Whether the preemptor may borrow, in the order to try it.

    Some candidates may only go if it does not, so both are tried where that can bring something.
    """
    claims = {source.claim for source in found}
    # Within the own queue it makes no difference to any candidate whether the preemptor borrows.
    if claims <= {Claim.OWN_QUEUE}:
        return (True,) if claims else ()
    if search.queue.borrow_within_cohort is not None:
        return True, False
    if not under_nominal(search):
        return (True,)
    return (True, False) if Claim.HIERARCHY in claims else (False, True)


def _own_quota_first(search: VictimSearch, found: Collection[CandidateQueue]) -> list[Target] | None:
    """Returns what `_release_until_fit` does for a queue that must not borrow but would, without releasing
    all candidates of other queues; None if it cannot tell.

    Nothing fits while the queue would borrow, and only its own candidates, which come last, end that:
    `_release_until_fit` releases all others before them, and gives most of these back. If room is made by
    those of its own that end the borrowing and the first k of the others, then no more of its own are
    released, and the others behind the k-th are given back.
    """
    # Pods may not find places although more was released; minimum run times note each candidate that is met.
    if search.placed is not None or search.state.min_runtime is not None:
        return None
    node, needs = search.node, search.needs
    if not node.would_borrow(needs):
        return None
    own = [source for source in found if source.claim is Claim.OWN_QUEUE]
    others = [source for source in found if source.claim is not Claim.OWN_QUEUE]
    candidates = list(_in_turn(search, own, may_borrow=False))
    if candidates and candidates[0].holding.evicted:
        return None  # those that leave anyway come first, and not last
    freed = search.release_until(candidates, lambda: not node.would_borrow(needs))
    if not freed:
        return []
    with search.state.without(target.holding for target in freed):
        if search.fits():
            return freed
        taken = _release_until_fit(search, others, may_borrow=False)
    return [*taken, *freed] if taken else None


def _release_until_fit(
    search: VictimSearch, found: Collection[CandidateQueue], may_borrow: bool
) -> list[Target]:
    return search.release_until(_in_turn(search, found, may_borrow), partial(search.fits, may_borrow))


def _in_turn(search: VictimSearch, found: Collection[CandidateQueue], may_borrow: bool) -> Iterator[Target]:
    """The candidates of all sources, merged; those of one that borrows no more are left out.

    As releases never make a queue borrow, none of the rest of it could go later either."""
    streams = ((source, source.candidates(search, may_borrow)) for source in found)
    merged = [
        (*first, number, source, rest)
        for number, (source, rest) in enumerate(streams)
        for first in islice(rest, 1)
    ]
    heapify(merged)
    while merged:
        _, holding, reason, number, source, rest = merged[0]
        # Asked when its turn comes: what was released since may have ended the queue's borrowing.
        if source.borrows(search):
            yield Target(holding, reason)
            following = next(rest, None)
        else:
            following = None
        if following is None:
            heappop(merged)
        else:
            heapreplace(merged, (*following, number, source, rest))
