"""Classical preemption: by priority, and by the distance in the cohort tree.

Candidates are released in order until the workload fits. Then unneeded ones are restored in reverse order, so
that the set of targets is minimal. Kueue: classicalPreemptions, pkg/scheduler/preemption/preemption.go, and
its folder classical.
"""

from collections.abc import Collection, Iterator
from functools import partial
from heapq import heapify, heappop, heapreplace
from itertools import islice

from muster.admission.preemption.candidates import CandidateQueue, Claim, candidate_queues, under_nominal
from muster.admission.preemption.ordering import comes_first
from muster.admission.preemption.search import Target, TargetSearch


def classical_targets(search: TargetSearch) -> list[Target]:
    """Returns a minimal set of targets with whose release the workload fits; empty if there is none."""
    sources = candidate_queues(search)
    for may_borrow in _attempts(search, sources):
        targets = None if may_borrow else _own_queue_first(search, sources)
        if targets is None:
            targets = _release_until_fit(search, sources, may_borrow)
        if targets:
            return targets
    return []


def _attempts(search: TargetSearch, sources: Collection[CandidateQueue]) -> tuple[bool, ...]:
    """Returns for each attempt, in order, whether the preemptor may borrow.

    Some candidates may be preempted only without borrowing, so both are tried where it can help.
    """
    claims = {source.claim for source in sources}
    # Borrowing makes no difference to candidates of the preemptor's own queue.
    if claims <= {Claim.OWN_QUEUE}:
        return (True,) if claims else ()
    if search.queue.borrow_within_cohort is not None:
        return True, False
    if not under_nominal(search):
        return (True,)
    return (True, False) if Claim.HIERARCHY in claims else (False, True)


def _own_queue_first(search: TargetSearch, sources: Collection[CandidateQueue]) -> list[Target] | None:
    """Returns the same as `_release_until_fit` for a queue that would borrow but must not, without releasing
    all candidates of other queues; None where this shortcut does not apply.

    Nothing fits while the queue would borrow, and only the release of its own candidates ends the borrowing.
    They come last, so `_release_until_fit` would release all other candidates before them and restore most.
    If the workload fits after the release of the own candidates that end the borrowing and the first k other
    candidates, no further own candidates are released, and all other candidates after the k-th are restored.
    """
    # With a topology, pods may not fit even after more releases; with minimum run times, every visited
    # candidate matters.
    if search.placed is not None or search.state.min_runtime is not None:
        return None
    node, needs = search.node, search.needs
    if not node.would_borrow(needs):
        return None
    own = [source for source in sources if source.claim is Claim.OWN_QUEUE]
    others = [source for source in sources if source.claim is not Claim.OWN_QUEUE]
    candidates = list(_merged(search, own, may_borrow=False))
    if candidates and comes_first(candidates[0].holding):
        return None
    freed = search.release_until(candidates, lambda: not node.would_borrow(needs))
    if not freed:
        return []
    with search.without(freed):
        if search.fits():
            return freed
        targets = _release_until_fit(search, others, may_borrow=False)
    return [*targets, *freed] if targets else None


def _release_until_fit(
    search: TargetSearch, sources: Collection[CandidateQueue], may_borrow: bool
) -> list[Target]:
    return search.release_until(_merged(search, sources, may_borrow), partial(search.fits, may_borrow))


def _merged(search: TargetSearch, sources: Collection[CandidateQueue], may_borrow: bool) -> Iterator[Target]:
    """Yields the candidates of all sources in order. Drops a source when its queue no longer borrows:
    releases never make a queue borrow again."""
    streams = ((source, source.candidates(search, may_borrow)) for source in sources)
    heap = [
        (*first, number, source, stream)
        for number, (source, stream) in enumerate(streams)
        for first in islice(stream, 1)
    ]
    heapify(heap)
    while heap:
        _, holding, reason, number, source, stream = heap[0]
        # Checked only now: releases since the candidate was read may have ended the queue's borrowing.
        if source.borrows(search):
            yield Target(holding, reason)
            following = next(stream, None)
        else:
            following = None
        if following is None:
            heappop(heap)
        else:
            heapreplace(heap, (*following, number, source, stream))
