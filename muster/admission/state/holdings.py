"""Workloads that hold quota, by queue, in the order of preemption."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from muster.admission.flavors.demand import still_held
from muster.admission.model import Admission, FlavorResource, PodSetAssignment, Workload, priority_rank
from muster.admission.quota.tree import QuotaNode
from muster.admission.topology import TopologyUsage

Precedence = tuple[float, ...]
"""A priority rank and the negative queueing time (-queued_at_ms): the lower one is preempted first."""
HoldingOrder = tuple[bool, bool, int, int, str, str]
ORDERS_MAX = 32
"""The maximum number of sorted lists per queue, as tenants choose the requests and each list uses memory."""


@dataclass(init=False, slots=True, eq=False)
class Holding:
    """A workload that holds quota in a queue."""

    workload: Workload
    node: QuotaNode  # of the queue that admitted it
    usage: dict[FlavorResource, int]
    reserved_at_ms: int
    evicted: bool  # its pods may still run
    admission: Admission | None  # of this decision; `workload` may not have it yet
    placed: tuple[TopologyUsage, ...]  # its topology usage
    priority_boost: int  # from aging, while it was pending
    over_budget: bool  # it uses a resource whose soft budget is used up
    started: bool  # had quota before this decision
    _order: HoldingOrder | None  # cached while it is in the lists of its queue

    # Written out, as mypyc does not compile the method that `dataclass` adds.
    def __init__(
        self,
        workload: Workload,
        node: QuotaNode,
        usage: dict[FlavorResource, int],
        reserved_at_ms: int,
        evicted: bool,
        admission: Admission | None = None,
        placed: tuple[TopologyUsage, ...] = (),
        priority_boost: int = 0,
    ) -> None:
        self.workload = workload
        self.node = node
        self.usage = usage
        self.reserved_at_ms = reserved_at_ms
        self.evicted = evicted
        self.admission = admission
        self.placed = placed
        self.priority_boost = priority_boost
        self.over_budget = self.started = False
        self._order = None

    def copy(self, node: QuotaNode) -> "Holding":
        """Returns a copy for the equal queue of another state."""
        copy = Holding(
            self.workload,
            node,
            self.usage,
            self.reserved_at_ms,
            self.evicted,
            self.admission,
            self.placed,
            self.priority_boost,
        )
        copy.over_budget, copy.started = self.over_budget, self.started
        return copy

    def uses(self, resources: Iterable[FlavorResource]) -> bool:
        """Returns whether it uses any of these resources."""
        for fr in resources:  # noqa: SIM110 - a generator is slow, and target searches call this for all holdings
            if fr in self.usage:
                return True
        return False

    @property
    def pod_sets(self) -> Sequence[PodSetAssignment]:
        """Returns the assignments of its pod sets."""
        return still_held(self.workload, self.admission or self.workload.admission)

    @property
    def priority(self) -> int:
        """Returns the priority that protects it from preemption."""
        return self.workload.priority + self.priority_boost

    @property
    def priority_rank(self) -> int:
        """Returns the priority rank that protects it from preemption."""
        return priority_rank(self.priority, bool(self.workload.surplus_of), self.over_budget)

    @property
    def order(self) -> HoldingOrder:
        """Returns the order of candidates of a queue: evicted workloads first, then surplus, then workloads
        over budget, then lower priority, then later reservation; the UID breaks ties, and then the key.

        Kueue, which has no surplus and no budgets: CandidatesOrdering, pkg/scheduler/preemption/common.
        """
        return self._computed_order() if self._order is None else self._order

    def _computed_order(self) -> HoldingOrder:
        workload = self.workload
        is_gang = not workload.surplus_of
        return not self.evicted, is_gang, self.priority_rank, -self.reserved_at_ms, workload.uid, workload.key

    def fix_order(self) -> None:
        """Computes the order again, and caches it until the next call: `evicted` and `over_budget` may have
        changed."""
        self._order = self._computed_order()


def precedence(workload: Workload) -> Precedence:
    """Returns the precedence of a workload: higher priority rank, then earlier queueing."""
    return workload.priority_rank, -workload.queued_at_ms


class QueueHoldings(dict[str, Holding]):
    """The holdings of a queue by workload key. Only `put`, `drop` and `evict` change it: they also update the
    sorted lists of holdings by resources, which let target searches read only the holdings that they take."""

    __slots__ = ("_in_order", "preemptible", "surplus", "version")

    def __init__(self) -> None:
        super().__init__()
        self._in_order: dict[frozenset[FlavorResource], list[tuple[HoldingOrder, Holding]]] = {}
        self.version = 0  # incremented by each change
        # The usage that a workload of the queue may preempt in it, by the workload's priority rank and by
        # resource: a cache of preemption/bound.py, emptied by each change.
        self.preemptible: dict[tuple[float, FlavorResource], int] = {}
        self.surplus: dict[str, dict[str, Holding]] = {}  # by the gang's key, and its own

    def put(self, holding: Holding) -> None:
        """Adds a holding to the queue and to its sorted lists."""
        self.version += 1
        self.preemptible.clear()
        holding.fix_order()
        self[holding.workload.key] = holding
        if holding.workload.surplus_of:
            self.surplus.setdefault(holding.workload.surplus_of, {})[holding.workload.key] = holding
        for resources, in_order in self._in_order.items():
            if holding.uses(resources):
                insort(in_order, (holding.order, holding))

    def drop(self, holding: Holding) -> None:
        """Removes a holding from the queue and from its sorted lists."""
        self.version += 1
        self.preemptible.clear()
        del self[holding.workload.key]
        gang = holding.workload.surplus_of
        if gang:
            del self.surplus[gang][holding.workload.key]
            if not self.surplus[gang]:
                del self.surplus[gang]
        for resources, in_order in self._in_order.items():
            if holding.uses(resources):
                del in_order[bisect_left(in_order, (holding.order,))]

    def evict(self, holding: Holding) -> None:
        """Marks a holding as evicted, which changes its place in the order of candidates."""
        # The sort key depends on `evicted`: drop with the old key, put with the new one.
        self.drop(holding)
        holding.evicted = True
        self.put(holding)

    def set_over_budget(self, holding: Holding, over_budget: bool) -> None:
        """Sets whether the holding is over budget, which changes its place in the order of candidates."""
        if holding.over_budget is not over_budget:
            self.drop(holding)
            holding.over_budget = over_budget
            self.put(holding)

    def below(self, bound: Precedence, resources: frozenset[FlavorResource]) -> Iterator[Holding]:
        """Yields the holdings below `bound` that use any of the resources, in order."""
        if bound[0] == -inf:  # policy Never: needs no sorted list
            return
        # Sorted on first use: most queues of a large snapshot are never searched.
        in_order = self._in_order.get(resources)
        if in_order is None:
            if len(self._in_order) == ORDERS_MAX:
                self._in_order.clear()
            using = (holding for holding in self.values() if holding.uses(resources))
            in_order = self._in_order[resources] = sorted((holding.order, holding) for holding in using)
        # Evicted holdings and surplus come first, in any precedence, so the loop cannot end among them.
        # Comparing the parts of precedences saves the tuples, a tenth of the time of a search.
        highest = bound[0]
        for order, holding in in_order:
            priority_rank = order[2]
            if priority_rank < highest:
                yield holding
            elif priority_rank == highest and len(bound) > 1:
                if -holding.workload.queued_at_ms < bound[1]:
                    yield holding
            elif order[0] and order[1]:
                return  # all others are at or above the bound
