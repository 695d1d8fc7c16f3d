"""In which order candidates are tried. Ties end at the UID, and at the key where UIDs are equal."""

from collections.abc import Callable, Iterable
from fractions import Fraction

from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Holding

CandidateOrder = tuple[bool, int, int, int, str, str]
Rank = Callable[[Holding], int]
UsageOf = Callable[[Holding], Fraction | None]
"""What the LocalQueue of a holding used lately; None if its queue does not go by that."""


def candidate_order(holding: Holding, rank: int) -> CandidateOrder:
    """Who is leaving anyway comes first; then by `rank`; the rest is the holdings' own order."""
    stays, priority, reserved_before, uid, key = holding.order
    return stays, rank, priority, reserved_before, uid, key


def own_queue_last(own: QuotaNode) -> Rank:
    """The rank where nothing else tells candidates apart."""
    return lambda holding: int(holding.node is own)


def ordered(candidates: Iterable[Holding], rank: Rank, usage_of: UsageOf | None = None) -> list[Holding]:
    """As they are tried: by `candidate_order`, and within a queue that goes by usage first those whose
    LocalQueue used more."""
    found = sorted(candidates, key=lambda holding: candidate_order(holding, rank(holding)))
    return found if usage_of is None else by_usage(found, rank, usage_of)


def by_usage(in_order: list[Holding], rank: Rank, usage_of: UsageOf) -> list[Holding]:
    """Those of one queue, equal in rank and in whether they are leaving, swap the places they have.

    Kueue compares the usage within a queue only, which together with the priorities of other
    queues is no order; that every queue keeps its places makes it one.
    """
    places: dict[tuple[bool, int, QuotaNode], list[tuple[Fraction, int]]] = {}
    for place, holding in enumerate(in_order):
        usage = usage_of(holding)
        if usage is not None:
            places.setdefault((holding.evicted, rank(holding), holding.node), []).append((-usage, place))
    result = list(in_order)
    for taken in places.values():
        for (_, place), (_, source) in zip(taken, sorted(taken), strict=True):
            result[place] = in_order[source]
    return result
