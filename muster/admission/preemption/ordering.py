"""Orders preemption candidates, and decides which of them a policy allows to preempt.

Ties are broken by UID, then by key.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import inf

from muster.admission.model import (
    OVER_BUDGET,
    FlavorResource,
    PreemptionPolicy,
    Workload,
    ranks_over_budget,
)
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Holding, Precedence, QueueHoldings, precedence

CandidateOrder = tuple[bool, bool, bool, int, int, int, str, str]
RankOf = Callable[[Holding], int]
UsageOf = Callable[[Holding], Fraction | None]
"""Returns recent usage of a holding's LocalQueue; None if its ClusterQueue does not order by usage."""


def candidate_order(holding: Holding, rank: int) -> CandidateOrder:
    """Returns the sort key of a candidate: evicted holdings first, then surplus, then holdings over budget,
    then by `rank`, then by the holdings' order."""
    stays, is_gang, priority_rank, reserved_before, uid, key = holding.order
    return stays, is_gang, not holding.over_budget, rank, priority_rank, reserved_before, uid, key


def comes_first(holding: Holding) -> bool:
    """Returns whether the candidate comes before candidates of other queues even if it is in the preemptor's
    queue."""
    return holding.evicted or bool(holding.workload.surplus_of) or holding.over_budget


def own_queue_last(own: QuotaNode) -> RankOf:
    """Returns a rank that only puts candidates of the preemptor's queue after all others."""
    return lambda holding: int(holding.node is own)


def ordered(candidates: Iterable[Holding], rank: RankOf, usage_of: UsageOf | None = None) -> list[Holding]:
    """Sorts candidates by `candidate_order`; within a queue that orders by usage, LocalQueues with more usage
    come first."""
    in_order = sorted(candidates, key=lambda holding: candidate_order(holding, rank(holding)))
    return in_order if usage_of is None else by_usage(in_order, rank, usage_of)


def by_usage(in_order: list[Holding], rank: RankOf, usage_of: UsageOf) -> list[Holding]:
    """Reorders holdings of the same queue, rank and eviction state by usage; gangs, surplus and holdings over
    budget separately.

    Kueue compares usage within a queue and priorities between queues, which is not transitive. It becomes an
    order because each queue's holdings are permuted only among their own positions.
    """
    positions: dict[tuple[bool, bool, bool, int, QuotaNode], list[tuple[Fraction, int]]] = {}
    for position, holding in enumerate(in_order):
        usage = usage_of(holding)
        if usage is not None:
            is_surplus, over_budget = bool(holding.workload.surplus_of), holding.over_budget
            key = holding.evicted, is_surplus, over_budget, rank(holding), holding.node
            positions.setdefault(key, []).append((-usage, position))
    result = list(in_order)
    for interchangeable in positions.values():
        for (_, position), (_, source) in zip(interchangeable, sorted(interchangeable), strict=True):
            result[position] = in_order[source]
    return result


def satisfies(policy: PreemptionPolicy, preemptor: Workload, candidate: Workload, buffer_ms: int = 0) -> bool:
    """Returns whether the policy allows the preemptor to preempt the candidate."""
    return precedence(candidate) < below(policy, precedence(preemptor), buffer_ms)


def below(policy: PreemptionPolicy, preemptor: Precedence, buffer_ms: int) -> Precedence:
    """Returns the precedence below which a workload may be preempted.

    Of two workloads with the same priority, the older may preempt the newer if it was queued more than
    `buffer_ms` earlier (Rules.preemption_buffer_ms). A workload over budget preempts only others over
    budget, with any policy. Kueue, which has no budgets: SatisfiesPreemptionPolicy,
    pkg/scheduler/preemption/common.
    """
    match policy:
        case PreemptionPolicy.LOWER_PRIORITY:
            return preemptor[:1]
        case PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY:
            priority, queued_before = preemptor
            return priority, queued_before - buffer_ms
        case PreemptionPolicy.ANY:
            return (-OVER_BUDGET // 2,) if ranks_over_budget(preemptor[0]) else (inf,)
    return (-inf,)


def preemptible(
    holdings: QueueHoldings,
    policy: PreemptionPolicy,
    preemptor: Precedence,
    resources: frozenset[FlavorResource],
    buffer_ms: int = 0,
    *,
    is_own: bool,
) -> Iterator[Holding]:
    """Iterates over the holdings of a queue that the policy allows to preempt, in order.

    Surplus of the preemptor's own queue yields to its gangs even if the policy is Never: elastic gangs give
    back what they hold above their minimum."""
    if is_own and policy is PreemptionPolicy.NEVER and holdings.surplus:
        return _only_surplus(holdings.below(preemptor[:1], resources))
    return holdings.below(below(policy, preemptor, buffer_ms), resources)


def _only_surplus(candidates: Iterator[Holding]) -> Iterator[Holding]:
    for holding in candidates:
        if holding.workload.surplus_of:
            yield holding
