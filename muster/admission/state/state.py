"""The working state of a decision: quota usage and the workloads that hold quota."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from muster.admission.flavors.demand import still_held
from muster.admission.flavors.placement import topology_usage
from muster.admission.flavors.queue_flavors import QueueFlavors
from muster.admission.model import (
    Admission,
    ClusterQueue,
    FlavorResource,
    Rules,
    Snapshot,
    StopPolicy,
    Workload,
)
from muster.admission.quota.tree import QuotaNode, QuotaTree, Usage, cohort_parents, cyclic_cohorts
from muster.admission.state.holdings import Holding, QueueHoldings
from muster.admission.state.hooks import BudgetStandings, CandidateProtection, UsageLimit
from muster.admission.state.over_budget import UsedUp, of_usage
from muster.admission.topology import Topologies, TopologyUsage


class WorkingState:
    """The snapshot's quota tree with its holdings; `inactive` has the reason of each inactive queue.

    `min_runtime`, `budgets` and `soft_budgets` are hooks, set by the engine if their rules are on. `used_up`
    has the soft budgets that are used up at the time of the decision."""

    __slots__ = (
        "_topologies",
        "bounds_preemption",
        "budgets",
        "flavors",
        "generations",
        "had_surplus",
        "holdings",
        "inactive",
        "min_runtime",
        "now_ms",
        "rules",
        "snapshot",
        "soft_budgets",
        "tree",
        "used_up",
        "version",
    )

    def __init__(self, snapshot: Snapshot, rules: Rules = Rules()) -> None:  # noqa: B008 - a frozen value
        self.snapshot = snapshot
        self.rules = rules
        # Prunes target searches by preemption/bound.py; heads with equal needs share the targets.
        self.bounds_preemption = True
        self.min_runtime: CandidateProtection | None = None
        self.budgets: UsageLimit | None = None
        self.soft_budgets: BudgetStandings | None = None
        self.used_up: dict[str, tuple[UsedUp, ...]] = {}  # by queue; without queues that have none
        self.inactive = _inactive_queues(snapshot, rules)
        active = {
            name
            for name, queue in snapshot.cluster_queues.items()
            if name not in self.inactive and queue.stop is StopPolicy.NONE
        }
        self.tree = QuotaTree(snapshot, active)
        self._topologies: Topologies | None = None
        self.flavors = {name: self._flavors_of(queue) for name, queue in snapshot.cluster_queues.items()}
        self.holdings: dict[str, QueueHoldings] = {name: QueueHoldings() for name in self.tree.queues}
        self.now_ms = 0
        self.generations: dict[str, int] = dict.fromkeys(self.tree.queues, 0)
        self.version = 0  # incremented by each change of quotas and holdings
        self.had_surplus = False  # whether any surplus has held quota: most clusters have no elastic gangs
        for workload in snapshot.workloads:
            if workload.admission is not None and workload.admission.cluster_queue in self.tree.queues:
                self.add_reserved(workload, workload.admission)

    def restore_from(self, other: "WorkingState") -> dict[Holding, Holding]:
        """Copies the workloads that hold quota from a state with equal queues; returns the copies."""
        # By the original, as other parts of the restored engine refer to its holdings.
        copies: dict[Holding, Holding] = {}
        for name, holdings in other.holdings.items():
            node = self.tree.queues[name]
            for holding in holdings.values():
                copies[holding] = holding.copy(node)
                self.add_holding(copies[holding])
        self.generations = dict(other.generations)
        self.used_up = dict(other.used_up)
        self.begin(other.now_ms)
        return copies

    def update_objects(self, snapshot: Snapshot) -> set[QuotaNode]:
        """Sets a snapshot that differs only in quotas, weights, `local_usage` and `spent`. Returns the roots
        of trees with changed quotas or weights."""
        self.snapshot = snapshot
        self.version += 1
        roots = self.tree.update_quotas(snapshot)
        for name, node in self.tree.queues.items():
            if node.root in roots:
                self.flavors[name] = self._flavors_of(self.queue(name))
                for holding in self.holdings[name].values():
                    node.add(holding.usage)
        return roots

    def _flavors_of(self, queue: ClusterQueue) -> QueueFlavors:
        topologies = self.topologies if self.rules.topology else None
        return QueueFlavors(queue, self.snapshot.flavors, self.rules, topologies)

    def topologies(self) -> Topologies:
        """Returns the topologies, built on first use, as most clusters do not use them."""
        if self._topologies is None:
            snapshot, rules = self.snapshot, self.rules
            flavors = snapshot.flavors if rules.topology else {}
            self._topologies = Topologies(flavors, snapshot.topologies, snapshot.nodes, rules)
        return self._topologies

    def queue(self, name: str) -> ClusterQueue:
        """Returns the ClusterQueue with this name."""
        return self.snapshot.cluster_queues[name]

    def generation(self, queue: str) -> int:
        """Returns a number that changes when a workload leaves the queue, as tried flavors may fit again.

        Kueue: AllocatableResourceGeneration, pkg/cache/scheduler/clusterqueue.go.
        """
        return self.generations[queue]

    def add_holding(self, holding: Holding) -> None:
        """Adds a workload that holds quota, and its usage."""
        self.version += 1
        self.had_surplus |= bool(holding.workload.surplus_of)
        self.restore(holding)
        self.holdings[holding.node.name].put(holding)

    def is_over_budget(self, holding: Holding) -> bool:
        """Returns whether a holding uses a resource whose soft budget is used up."""
        return of_usage(self.used_up, holding.node.name, holding.usage) is not None

    def place(
        self, holding: Holding, usage: Usage, admission: Admission, placed: Iterable[TopologyUsage]
    ) -> None:
        """Sets a new admission of a workload that holds quota. `placed` is added to its topology usage, as
        pods may still run on the former nodes.

        The holding remains the same object, as heads of the cycle may have it as a target."""
        # Releases the usage that the tree has counted, before it changes.
        self.remove_holding(holding)
        holding.usage, holding.admission = dict(usage), admission
        holding.placed = (*holding.placed, *placed)
        self.add_holding(holding)

    def remove_holding(self, holding: Holding) -> None:
        """Removes a holding whose workload left, or whose admission in this decision is reverted."""
        self.version += 1
        self.release(holding)
        self.holdings[holding.node.name].drop(holding)
        self.generations[holding.node.name] += 1

    def free_former_domains(self, holding: Holding) -> bool:
        """Releases the former topology usage of a workload that was placed again; returns whether it had
        any."""
        admission = holding.admission or holding.workload.admission
        assert admission is not None
        placed = self._topology_usage(holding.workload, admission)
        if placed == holding.placed:
            return False
        self.topologies().remove(holding.placed)
        holding.placed = placed
        self.topologies().add(placed)
        return True

    def _topology_usage(self, workload: Workload, admission: Admission) -> tuple[TopologyUsage, ...]:
        if all(pod_set.topology is None for pod_set in admission.pod_sets):
            return ()
        return topology_usage(workload, admission, self.topologies())

    def evict(self, holding: Holding) -> None:
        """Marks the holding as evicted; it holds its quota until its pods have terminated."""
        self.version += 1
        self.holdings[holding.node.name].evict(holding)

    def without(self, holdings: Iterable[Holding]) -> "Released":
        """Simulates that holdings have released their quota, inside `with`."""
        return Released(self, holdings)

    @contextmanager
    def absent(self, holdings: Iterable[Holding]) -> Iterator[None]:
        """Simulates that holdings have released their quota and are no candidates for preemption."""
        released = list(holdings)
        with self.without(released):
            for holding in released:
                self.holdings[holding.node.name].drop(holding)
            try:
                yield
            finally:
                for holding in released:
                    self.holdings[holding.node.name].put(holding)

    def release(self, holding: Holding) -> None:
        """Simulates that a holding has released its quota, until `restore`."""
        holding.node.remove(holding.usage)
        if holding.placed:
            self.topologies().remove(holding.placed)

    def restore(self, holding: Holding) -> None:
        """Restores a released holding."""
        holding.node.add(holding.usage)
        if holding.placed:
            self.topologies().add(holding.placed)

    def hide(self, holding: Holding, resources: Collection[FlavorResource]) -> None:
        """Simulates that a holding has released these resources, until `show`: for a search of preemption
        targets, which reads no other usage."""
        holding.node.hide(holding.usage, resources)
        if holding.placed:
            self.topologies().remove(holding.placed)

    def show(self, holding: Holding, resources: Collection[FlavorResource]) -> None:
        """Restores a hidden holding."""
        holding.node.show(holding.usage, resources)
        if holding.placed:
            self.topologies().add(holding.placed)

    def begin(self, now_ms: int) -> None:
        """Starts a decision at this time."""
        self.now_ms = now_ms
        for rule in (self.min_runtime, self.budgets):
            if rule is not None:
                rule.now_ms = now_ms

    def priority_boost(self, workload: Workload, now_ms: int) -> int:
        """Returns the boost of aging for a workload that waits until `now_ms`."""
        aging = self.rules.aging
        return 0 if aging is None else aging.boost(now_ms - workload.queued_at_ms)

    def priority_boost_now(self, workload: Workload) -> int:
        """Returns the priority boost of a workload at the time of the pass."""
        return self.priority_boost(workload, self.now_ms)

    def add_reserved(self, workload: Workload, admission: Admission) -> Holding:
        """Adds the holding of a workload with an admission; its queue must exist."""
        node = self.tree.queues[admission.cluster_queue]
        usage = usage_of(admission, workload)
        placed = self._topology_usage(workload, admission)
        holding = Holding(workload, node, usage, workload.reserved_at_ms, workload.evicted, placed=placed)
        holding.priority_boost = self.priority_boost(workload, workload.reserved_at_ms)
        holding.over_budget = self.is_over_budget(holding)
        holding.started = True
        self.add_holding(holding)
        return holding


class Released:
    """Simulates inside `with` that holdings have released their quota.

    Not a generator with `contextmanager`, which costs as much as the release: each cycle needs some."""

    __slots__ = ("_holdings", "_state")

    def __init__(self, state: WorkingState, holdings: Iterable[Holding]) -> None:
        self._state = state
        self._holdings = list(holdings)

    def __enter__(self) -> None:
        for holding in self._holdings:
            self._state.release(holding)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        for holding in self._holdings:
            self._state.restore(holding)


def usage_of(admission: Admission, workload: Workload) -> dict[FlavorResource, int]:
    """Returns the usage of an admission, without finished pods and resources without a flavor."""
    usage: dict[FlavorResource, int] = {}
    for assignment in still_held(workload, admission):
        for resource, flavor in assignment.flavors.items():
            fr = FlavorResource(flavor, resource)
            usage[fr] = usage.get(fr, 0) + assignment.usage.get(resource, 0)
    return usage


def _inactive_queues(snapshot: Snapshot, rules: Rules) -> dict[str, str]:
    inactive = {}
    cyclic = cyclic_cohorts(cohort_parents(snapshot))
    for name, queue in snapshot.cluster_queues.items():
        if queue.problem:
            inactive[name] = queue.problem
        if queue.cohort in cyclic:
            inactive[name] = f"the parents of its cohort {queue.cohort} form a cycle"
        flavors = {quotas.flavor for group in queue.groups for quotas in group.flavors}
        missing_flavors = sorted(flavors - snapshot.flavors.keys())
        if missing_flavors:
            inactive[name] = f"ResourceFlavor {', '.join(missing_flavors)} does not exist"
        missing_topologies = _missing_topologies(snapshot, flavors) if rules.topology else []
        if missing_topologies:
            inactive[name] = f"Topology {', '.join(missing_topologies)} of its flavors does not exist"
    return inactive


def _missing_topologies(snapshot: Snapshot, flavors: Iterable[str]) -> list[str]:
    topologies = {snapshot.flavors[name].topology for name in flavors if name in snapshot.flavors}
    return sorted(name for name in topologies if name is not None and name not in snapshot.topologies)
