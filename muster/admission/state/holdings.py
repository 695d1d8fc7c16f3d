"""Workloads that hold quota, by queue, in the order in which they are preempted."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from muster.admission.flavors.demand import still_held
from muster.admission.model import Admission, FlavorResource, PodSetAssignment, Workload
from muster.admission.quota.tree import QuotaNode
from muster.admission.topology import TopologyUsage

Precedence = tuple[float, ...]
"""A priority, and how late it was queued (-queued_at_ms): the lower one gives way."""
HoldingOrder = tuple[bool, int, int, str, str]
ORDERS_MAX = 32
"""Orders that a queue keeps: tenants choose what their workloads contend for, and each order costs memory."""


@dataclass(slots=True, eq=False)
class Holding:
    """A workload that holds quota in a queue."""

    workload: Workload
    node: QuotaNode  # of the queue that admitted it
    usage: dict[FlavorResource, int]
    reserved_at_ms: int
    evicted: bool  # it is leaving, but its pods may still run
    admission: Admission | None = None  # if a cycle gave it, which its workload may not show yet
    placed: tuple[TopologyUsage, ...] = ()  # where its pods are, on flavors with a topology
    priority_boost: int = 0  # what aging has added to its priority while it waited
    started: bool = False  # it has its quota since before this decision

    def copy(self, node: QuotaNode) -> "Holding":
        return Holding(
            self.workload,
            node,
            self.usage,
            self.reserved_at_ms,
            self.evicted,
            self.admission,
            self.placed,
            self.priority_boost,
            self.started,
        )

    def uses(self, resources: Iterable[FlavorResource]) -> bool:
        for fr in resources:  # noqa: SIM110 - a generator is slow, and searches for victims ask this of all
            if fr in self.usage:
                return True
        return False

    @property
    def pod_sets(self) -> Sequence[PodSetAssignment]:
        """Its assignments, pod set by pod set."""
        return still_held(self.workload, self.admission or self.workload.admission)

    @property
    def priority(self) -> int:
        """The priority that decides whether and when it is preempted."""
        return self.workload.priority + self.priority_boost

    @property
    def order(self) -> HoldingOrder:
        """The order of candidates of one queue: those that are leaving anyway, then the lower priority, then
        the latest reservation; ties end at the UID, and at the key where UIDs are equal.

        Kueue: CandidatesOrdering, pkg/scheduler/preemption/common.
        """
        workload = self.workload
        return not self.evicted, self.priority, -self.reserved_at_ms, workload.uid, workload.key


def precedence(workload: Workload) -> Precedence:
    return workload.priority, -workload.queued_at_ms


class QueueHoldings(dict[str, Holding]):
    """Holdings of one queue, by the workload's key. Only `put`, `drop` and `evict` change it: they keep those
    that use certain resources in order, once that was needed, so that a search for victims reads no more of
    them than it takes."""

    __slots__ = ("_in_order", "version")

    def __init__(self) -> None:
        super().__init__()
        self._in_order: dict[frozenset[FlavorResource], list[tuple[HoldingOrder, Holding]]] = {}
        self.version = 0  # goes up whenever they change

    def put(self, holding: Holding) -> None:
        self.version += 1
        self[holding.workload.key] = holding
        for resources, in_order in self._in_order.items():
            if holding.uses(resources):
                insort(in_order, (holding.order, holding))

    def drop(self, holding: Holding) -> None:
        self.version += 1
        del self[holding.workload.key]
        for resources, in_order in self._in_order.items():
            if holding.uses(resources):
                del in_order[bisect_left(in_order, (holding.order,))]

    def evict(self, holding: Holding) -> None:
        # Its place in the order depends on whether it is evicted: dropped as it was, put as it is then.
        self.drop(holding)
        holding.evicted = True
        self.put(holding)

    def below(self, bound: Precedence, resources: frozenset[FlavorResource]) -> Iterator[Holding]:
        """Yields holdings below the bound that use any of the resources, in order."""
        if bound[0] == -inf:  # the policy Never: a queue that preempts nothing keeps no order
            return
        # Sorted only where a search for victims asks: most queues of a large snapshot are never asked.
        in_order = self._in_order.get(resources)
        if in_order is None:
            if len(self._in_order) == ORDERS_MAX:
                self._in_order.clear()
            using = (holding for holding in self.values() if holding.uses(resources))
            in_order = self._in_order[resources] = sorted((holding.order, holding) for holding in using)
        # Holdings that leave anyway come first, in any precedence: the loop cannot end among them. Parts of
        # precedences are compared one by one, as a tuple for each holding costs a tenth of a search.
        highest = bound[0]
        for order, holding in in_order:
            priority = order[1]
            if priority < highest:
                yield holding
            elif priority == highest and len(bound) > 1:
                if -holding.workload.queued_at_ms < bound[1]:
                    yield holding
            elif order[0]:
                return  # the others are not lower
