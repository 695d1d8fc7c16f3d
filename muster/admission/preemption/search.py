"""Steps of every search for victims: candidates, whether the workload fits, and which of them may stay."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from muster.admission.model import (
    ClusterQueue,
    FlavorResource,
    PreemptionPolicy,
    PreemptionReason,
    Rules,
    Workload,
)
from muster.admission.preemption.ordering import UsageOf, below
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding, precedence
from muster.admission.state.state import WorkingState

PlacesFound = Callable[[], bool]
"""Whether the pods find their places in the topology, after the releases so far."""


@dataclass(frozen=True, slots=True)
class Target:
    """A holding that has to leave, and what entitles the preemptor to it."""

    holding: Holding
    reason: PreemptionReason


@dataclass(frozen=True, slots=True)
class VictimSearch:
    """A workload of the queue at `node` looks for room for `needs`.

    Only holdings that use a contested resource may go for it: one that it can't have otherwise.
    """

    state: WorkingState
    workload: Workload
    queue: ClusterQueue
    node: QuotaNode
    needs: Usage
    contested: frozenset[FlavorResource]
    rules: Rules = field(default_factory=Rules)
    usage_of: UsageOf | None = None
    placed: PlacesFound | None = None

    def allowed(self, node: QuotaNode, policy: PreemptionPolicy) -> Iterator[Holding]:
        """Yields candidates in the queue at `node` that the policy allows, in order."""
        bound = below(policy, precedence(self.workload), self.rules.preemption_buffer_ms)
        candidates = self.state.holdings[node.name].below(bound, self.contested)
        min_runtime = self.state.min_runtime
        return candidates if min_runtime is None else min_runtime.unprotected(candidates)

    def fits(self, may_borrow: bool = True) -> bool:
        """Whether there is room, after the releases so far. Kueue: workloadFits."""
        if not may_borrow and self.node.would_borrow(self.needs):
            return False
        return self.node.fits(self.needs) and (self.placed is None or self.placed())

    def release_until(self, candidates: Iterable[Target], enough: Callable[[], bool]) -> list[Target]:
        """Releases candidates in order until it is enough. Returns those that are needed, empty if all are
        too few; restores all of them."""
        released: list[Target] = []
        for target in candidates:
            self.state.release(target.holding)
            released.append(target)
            if enough():
                return self.give_back(released, enough)
        self.restore(released)
        return []

    def give_back(self, released: list[Target], fits: Callable[[], bool]) -> list[Target]:
        """Returns the released holdings that are needed; restores all of them.

        The last one is: without it there was no room. Of the others those that were released last
        are the first to stay. Kueue: fillBackWorkloads.
        """
        # Victims are a minimal set: each other one is tried without, the last released first.
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
