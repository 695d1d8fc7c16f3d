"""Which workloads a policy lets others preempt, and the order in which candidates are tried.

Ties end at the UID, and at the key where UIDs are equal.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import inf

from muster.admission.model import PreemptionPolicy, Workload
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Holding, Precedence, precedence

CandidateOrder = tuple[bool, int, int, int, str, str]
RankOf = Callable[[Holding], int]
UsageOf = Callable[[Holding], Fraction | None]
"""Recent usage of a holding's LocalQueue; None if its queue does not order by that."""


def candidate_order(holding: Holding, rank: int) -> CandidateOrder:
    """Holdings that are leaving anyway come first; then `rank` decides; then the holdings' own order."""
    stays, priority, reserved_before, uid, key = holding.order
    return stays, rank, priority, reserved_before, uid, key


def own_queue_last(own: QuotaNode) -> RankOf:
    """The rank where nothing else tells candidates apart."""
    return lambda holding: int(holding.node is own)


def ordered(candidates: Iterable[Holding], rank: RankOf, usage_of: UsageOf | None = None) -> list[Holding]:
    """Sorts candidates as they are tried: by `candidate_order`, and within a queue that goes by usage first
    those whose LocalQueue used more."""
    found = sorted(candidates, key=lambda holding: candidate_order(holding, rank(holding)))
    return found if usage_of is None else by_usage(found, rank, usage_of)


def by_usage(in_order: list[Holding], rank: RankOf, usage_of: UsageOf) -> list[Holding]:
    """Reorders by usage the holdings of one queue that are equal in rank and in whether they are leaving.

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


def satisfies(policy: PreemptionPolicy, preemptor: Workload, candidate: Workload, buffer_ms: int = 0) -> bool:
    """Whether the policy alone lets the one preempt the other."""
    return precedence(candidate) < below(policy, precedence(preemptor), buffer_ms)


def below(policy: PreemptionPolicy, preemptor: Precedence, buffer_ms: int) -> Precedence:
    """The precedence below which a workload may be preempted.

    Of two of the same priority the older one goes before, if it waits more than `buffer_ms` longer
    (Rules.preemption_buffer_ms). Kueue: SatisfiesPreemptionPolicy, pkg/scheduler/preemption/common.
    """
    match policy:
        case PreemptionPolicy.LOWER_PRIORITY:
            return preemptor[:1]
        case PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY:
            priority, queued_before = preemptor
            return priority, queued_before - buffer_ms
        case PreemptionPolicy.ANY:
            return (inf,)
    return (-inf,)
