"""Steps shared by all searches for preemption targets: candidates, the check whether the workload fits, and
restoring."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from muster.admission.model import (
    ClusterQueue,
    FlavorResource,
    PreemptionPolicy,
    PreemptionReason,
    Rules,
    Workload,
)
from muster.admission.preemption.ordering import UsageOf, comes_first, preemptible
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding, precedence
from muster.admission.state.state import WorkingState

PlacesFound = Callable[[], bool]
"""Returns whether the pods fit on their topology, after the releases so far."""


@dataclass(init=False, slots=True)
class Target:
    """A holding to preempt, and the reason."""

    holding: Holding
    reason: PreemptionReason

    # Written out, as mypyc does not compile the method that `dataclass` adds.
    def __init__(self, holding: Holding, reason: PreemptionReason) -> None:
        self.holding = holding
        self.reason = reason


@dataclass(init=False, slots=True, eq=False)
class TargetSearch:
    """A search for preemption targets, after whose release `needs` of a workload in the queue at `node` fits.

    Only holdings that use a contested resource are candidates: resources that do not fit without preemption.
    With `surplus_only`, gangs are not: growth takes nothing that another gang needs to run. With
    `over_budget_only`, gangs within their budgets are not. `reads` are the resources whose usage the search
    reads; None: all, as shares depend on all.
    """

    state: WorkingState
    workload: Workload
    queue: ClusterQueue
    node: QuotaNode
    needs: Usage
    contested: frozenset[FlavorResource]
    rules: Rules
    usage_of: UsageOf | None
    placed: PlacesFound | None
    surplus_only: bool
    reads: tuple[FlavorResource, ...] | None
    over_budget_only: bool

    def __init__(
        self,
        state: WorkingState,
        workload: Workload,
        queue: ClusterQueue,
        node: QuotaNode,
        needs: Usage,
        contested: frozenset[FlavorResource],
        rules: Rules = Rules(),  # noqa: B008 - a frozen value
        usage_of: UsageOf | None = None,
        placed: PlacesFound | None = None,
        surplus_only: bool = False,
        reads: tuple[FlavorResource, ...] | None = None,
        over_budget_only: bool = False,
    ) -> None:
        self.state = state
        self.workload = workload
        self.queue = queue
        self.node = node
        self.needs = needs
        self.contested = contested
        self.rules = rules
        self.usage_of = usage_of
        self.placed = placed
        self.surplus_only = surplus_only
        self.reads = reads
        self.over_budget_only = over_budget_only

    def allowed(self, node: QuotaNode, policy: PreemptionPolicy) -> Iterator[Holding]:
        """Iterates over candidates in the queue at `node` that the policy allows to preempt, in order."""
        candidates = preemptible(
            self.state.holdings[node.name],
            policy,
            precedence(self.workload),
            self.contested,
            self.rules.preemption_buffer_ms,
            is_own=node is self.node,
        )
        if self.surplus_only:
            candidates = _without_gangs(candidates)
        elif self.over_budget_only:
            candidates = filter(comes_first, candidates)
        min_runtime = self.state.min_runtime
        return candidates if min_runtime is None else min_runtime.unprotected(candidates)

    def outranks(self, candidate: Holding) -> bool:
        """Returns whether the candidate is over budget and the preemptor is not."""
        return candidate.over_budget and not self.workload.over_budget

    def fits(self, may_borrow: bool = True) -> bool:
        """Returns whether the workload fits, after the releases so far. Kueue: workloadFits."""
        if not may_borrow and self.node.would_borrow(self.needs):
            return False
        return self.node.fits(self.needs) and (self.placed is None or self.placed())

    def release_until(self, candidates: Iterable[Target], enough: Callable[[], bool]) -> list[Target]:
        """Releases candidates in order until `enough`. Returns the needed ones, or an empty list if all
        candidates do not suffice. Restores all of them."""
        released: list[Target] = []
        for target in candidates:
            self._release(target.holding)
            released.append(target)
            if enough():
                return self.restore_unneeded(released, enough)
        self.restore(released)
        return []

    def restore_unneeded(self, released: list[Target], fits: Callable[[], bool]) -> list[Target]:
        """Returns the released holdings that are needed; restores all of them.

        The last one is always needed, as the workload did not fit before its release. The others are tested
        in reverse order of their release. Surplus of a needed gang is evicted with it. Kueue:
        fillBackWorkloads.
        """
        needed = released[-1:]
        for target in reversed(released[:-1]):
            gang = target.holding.workload.surplus_of
            if gang and any(other.holding.workload.key == gang for other in needed):
                needed.append(target)
                continue
            self._restore(target.holding)
            if not fits():
                self._release(target.holding)
                needed.append(target)
        self.restore(needed)
        return needed[::-1]

    def restore(self, released: Collection[Target]) -> None:
        """Restores the released holdings."""
        for target in released:
            self._restore(target.holding)

    @contextmanager
    def without(self, targets: Collection[Target]) -> Iterator[None]:
        """Simulates that the targets have released their quota."""
        for target in targets:
            self._release(target.holding)
        try:
            yield
        finally:
            self.restore(targets)

    def _release(self, holding: Holding) -> None:
        if self.reads is None:
            self.state.release(holding)
        else:
            self.state.hide(holding, self.reads)

    def _restore(self, holding: Holding) -> None:
        if self.reads is None:
            self.state.restore(holding)
        else:
            self.state.show(holding, self.reads)


def _without_gangs(candidates: Iterable[Holding]) -> Iterator[Holding]:
    """Yields surplus, and evicted gangs, which need not be preempted."""
    for holding in candidates:
        if holding.evicted or holding.workload.surplus_of:
            yield holding
