"""The preemptor: finds targets for a workload that does not fit, and the grade of flavors with preemption."""

from collections.abc import Collection
from fractions import Fraction

from muster.admission.flavors.fungibility import Grade, Mode
from muster.admission.model import ClusterQueue, FlavorResource, Rules, Workload
from muster.admission.preemption.bound import PreemptionBound
from muster.admission.preemption.classical import classical_targets
from muster.admission.preemption.fair import fair_targets
from muster.admission.preemption.search import PlacesFound, Target, TargetSearch
from muster.admission.preemption.shared_targets import SharedTargets
from muster.admission.queueing.usage import LocalUsage
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState

_SearchKey = tuple[frozenset[tuple[FlavorResource, int]], frozenset[FlavorResource]]


class Preemptor:
    """A workload of an active queue that looks for targets in one unchanged state. `shared` caches the
    results of other preemptors in that state."""

    __slots__ = (
        "_cache",
        "_preemption_bound",
        "local_usage",
        "node",
        "queue",
        "rules",
        "shared",
        "state",
        "workload",
    )

    def __init__(
        self,
        state: WorkingState,
        workload: Workload,
        queue: ClusterQueue,
        node: QuotaNode,
        rules: Rules = Rules(),  # noqa: B008 - a frozen value
        local_usage: LocalUsage | None = None,
        shared: SharedTargets | None = None,
    ) -> None:
        self.state = state
        self.workload = workload
        self.queue = queue
        self.node = node
        self.rules = rules
        self.local_usage = local_usage or {}
        self.shared = shared
        holdings = state.holdings[node.name]
        self._preemption_bound = PreemptionBound(node, queue, holdings, rules, workload)
        self._cache: dict[_SearchKey, list[Target]] = {}

    def simulate(self, fr: FlavorResource, needed: int) -> Grade:
        """Returns the grade of one resource with preemption (Kueue: PreemptionOracle)."""
        targets = self.targets({fr: needed}, (fr,))
        if not targets:
            level, _ = self.node.borrowing_level(fr, needed)
            return Grade(Mode.NO_CANDIDATES, level)
        for target in targets:
            self.state.hide(target.holding, (fr,))
        level, _ = self.node.borrowing_level(fr, needed)
        for target in targets:
            self.state.show(target.holding, (fr,))
        in_own_queue = any(target.holding.node is self.node for target in targets)
        return Grade(Mode.PREEMPT if in_own_queue else Mode.RECLAIM, level)

    def targets(
        self, needs: Usage, contested: Collection[FlavorResource], placed: PlacesFound | None = None
    ) -> list[Target]:
        """Returns a minimal set of targets with whose release `needs` fits; empty if there is none.

        Only holdings that use a contested resource are candidates. Resources of which `needs` has 0 are
        ignored, even if the queue borrows them.
        """
        needs = {fr: amount for fr, amount in needs.items() if amount}
        key = frozenset(needs.items()), frozenset(contested)
        # Not cached with a topology: the result depends also on the nodes that each release frees.
        cached = self._cache.get(key) if placed is None else None
        if cached is not None:  # most searches repeat an earlier simulation
            return cached
        if self.state.bounds_preemption and not self._may_fit(needs):
            targets = []
        else:
            targets = self._search(needs, key[1], placed)
        if placed is None:
            self._cache[key] = targets
        return targets

    def _may_fit(self, needs: Usage) -> bool:
        """Returns False if `needs` cannot fit even with preemption (preemption/bound.py)."""
        for fr, amount in needs.items():  # noqa: SIM110 - a generator is slow, and every search calls this
            if not self._preemption_bound.has(fr, amount):
                return False
        return True

    def _search(
        self, needs: Usage, contested: frozenset[FlavorResource], placed: PlacesFound | None = None
    ) -> list[Target]:
        usage_of = self._usage_of if self.local_usage else None
        search = TargetSearch(
            self.state,
            self.workload,
            self.queue,
            self.node,
            needs,
            contested,
            self.rules,
            usage_of,
            placed,
            surplus_only=bool(self.workload.surplus_of),
            reads=tuple(contested.union(needs)) if self.rules.fair_sharing is None else None,
        )
        min_runtime = self.state.min_runtime
        if min_runtime is None:
            if self.shared is not None and self.rules.fair_sharing is None:
                return self.shared.find(search)
            return self._targets_of(search)
        min_runtime.begin()
        targets = self._targets_of(search)
        # The second search only explains the wait to the user: its targets are not preempted.
        if not targets and min_runtime.suspend():
            min_runtime.resume(self.workload.key, bool(self._targets_of(search)))
        return targets

    def _targets_of(self, search: TargetSearch) -> list[Target]:
        sharing = self.rules.fair_sharing
        return classical_targets(search) if sharing is None else fair_targets(search, sharing)

    def _usage_of(self, holding: Holding) -> Fraction | None:
        if not self.state.queue(holding.node.name).usage_based:
            return None
        return self.local_usage.get(holding.workload.local_queue, Fraction(0))
