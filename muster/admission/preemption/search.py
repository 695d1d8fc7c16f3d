"""What every way of preempting shares: who may go, when it is enough, and who may stay after all."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from muster.admission.model import (
    ClusterQueue,
    FlavorResource,
    PreemptionPolicy,
    PreemptionReason,
    Rules,
    Workload,
)
from muster.admission.preemption.ordering import UsageOf
from muster.admission.preemption.policy import below
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding, standing
from muster.admission.state.state import WorkingState

Placed = Callable[[], bool]
"""Whether the pods find their places in the topology, after the releases so far."""


@dataclass(frozen=True, slots=True)
class Target:
    """A holding that has to leave, and what entitles the preemptor to it."""

    holding: Holding
    reason: PreemptionReason


@dataclass(frozen=True, slots=True)
class Search:
    """A workload of the queue at `node` looks for room for `needs`.

    Only holdings that use a contested resource may go for it: one that it can't have otherwise.
    """

    state: WorkingState
    workload: Workload
    queue: ClusterQueue
    node: QuotaNode
    needs: Usage
    contested: Collection[FlavorResource]
    rules: Rules = field(default_factory=Rules)
    usage_of: UsageOf | None = None
    placed: Placed | None = None

    def allowed(self, node: QuotaNode, policy: PreemptionPolicy) -> Iterator[Holding]:
        """Those in the queue at `node` that the policy gives away, in their order."""
        bound = below(policy, standing(self.workload), self.rules.preemption_buffer_ms)
        holdings = self.state.holdings[node.name].below(bound)
        candidates = (holding for holding in holdings if holding.uses(self.contested))
        tenure = self.state.tenure
        return candidates if tenure is None else tenure.unprotected(candidates)

    def fits(self, may_borrow: bool = True) -> bool:
        """Whether there is room, after the releases so far. Kueue: workloadFits."""
        if not may_borrow and any(self.node.borrowing_with(fr, amount) for fr, amount in self.needs.items()):
            return False
        return self.node.fits(self.needs) and (self.placed is None or self.placed())

    def give_back(self, released: list[Target], fits: Callable[[], bool]) -> list[Target]:
        """Those of the released that are needed; restores all of them.

        The last one is: without it there was no room. Of the others those that were released last
        are the first to stay. Kueue: fillBackWorkloads.
        """
        needed = released[-1:]
        for target in reversed(released[:-1]):
            self.state.restore(target.holding)
            if not fits():
                self.state.release(target.holding)
                needed.append(target)
        self.restore(needed)
        return needed[::-1]

    def restore(self, released: Collection[Target]) -> None:
        for target in released:
            self.state.restore(target.holding)
