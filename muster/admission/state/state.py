"""The working state: which workloads hold quota, as cycles go on."""

from collections.abc import Iterable, Iterator
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
from muster.admission.state.hooks import UsageLimit, VictimProtection
from muster.admission.topology import Topologies, TopologyUsage


class WorkingState:
    """The snapshot's quota tree with its holdings; `inactive` queues have a sentence why.

    `min_runtime` and `budgets` are hooks, None where no rule sets them (rules.install)."""

    __slots__ = (
        "_topologies",
        "bounds_preemption",
        "budgets",
        "flavors",
        "generations",
        "holdings",
        "inactive",
        "min_runtime",
        "now_ms",
        "rules",
        "snapshot",
        "tree",
    )

    def __init__(self, snapshot: Snapshot, rules: Rules = Rules()) -> None:  # noqa: B008 - a frozen value
        self.snapshot = snapshot
        self.rules = rules
        # Victims are searched only where preemption/bound.py allows it; heads that want the same share them.
        self.bounds_preemption = True
        self.min_runtime: VictimProtection | None = None
        self.budgets: UsageLimit | None = None
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
        for workload in snapshot.workloads:
            if workload.admission is not None and workload.admission.cluster_queue in self.tree.queues:
                self.add_reserved(workload, workload.admission)

    def restore_from(self, other: "WorkingState") -> dict[Holding, Holding]:
        """Takes over the workloads that hold quota from a state with equal queues, and returns the copies."""
        copies: dict[Holding, Holding] = {}
        for name, holdings in other.holdings.items():
            node = self.tree.queues[name]
            for holding in holdings.values():
                copies[holding] = holding.copy(node)
                self.add_holding(copies[holding])
        self.generations = dict(other.generations)
        self.begin(other.now_ms)
        return copies

    def update_objects(self, snapshot: Snapshot) -> set[QuotaNode]:
        """Takes objects that differ in quotas, weights, `local_usage` and `spent` only. Returns the roots of
        trees where a quota or a weight has changed."""
        self.snapshot = snapshot
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
        """Built when it is needed first: most clusters place no pods."""
        if self._topologies is None:
            snapshot, rules = self.snapshot, self.rules
            flavors = snapshot.flavors if rules.topology else {}
            self._topologies = Topologies(flavors, snapshot.topologies, snapshot.nodes, rules)
        return self._topologies

    def queue(self, name: str) -> ClusterQueue:
        return self.snapshot.cluster_queues[name]

    def generation(self, queue: str) -> int:
        """Changes whenever a workload leaves the queue: flavors that were tried may have room again.

        Kueue: AllocatableResourceGeneration, pkg/cache/scheduler/clusterqueue.go.
        """
        return self.generations[queue]

    def add_holding(self, holding: Holding) -> None:
        self.restore(holding)
        self.holdings[holding.node.name].put(holding)

    def place(
        self, holding: Holding, usage: Usage, admission: Admission, placed: Iterable[TopologyUsage]
    ) -> None:
        """Gives a workload that holds quota (other) nodes; pods may still be on those that it leaves.

        The holding stays the same object: heads of the same cycle may be about to preempt it."""
        # Released with the usage that the tree knows, before that is replaced.
        self.remove_holding(holding)
        holding.usage, holding.admission = dict(usage), admission
        holding.placed = (*holding.placed, *placed)
        self.add_holding(holding)

    def remove_holding(self, holding: Holding) -> None:
        """Removes a holding that is gone, or whose admission by this decision is undone."""
        self.release(holding)
        self.holdings[holding.node.name].drop(holding)
        self.generations[holding.node.name] += 1

    def free_former_domains(self, holding: Holding) -> bool:
        """Frees the former places of a workload that was placed again; returns whether it had any."""
        admission = holding.admission or holding.workload.admission
        assert admission is not None
        placed = self._placed(holding.workload, admission)
        if placed == holding.placed:
            return False
        self.topologies().remove(holding.placed)
        holding.placed = placed
        self.topologies().add(placed)
        return True

    def _placed(self, workload: Workload, admission: Admission) -> tuple[TopologyUsage, ...]:
        if all(of.topology is None for of in admission.pod_sets):
            return ()
        return topology_usage(workload, admission, self.topologies())

    def evict(self, holding: Holding) -> None:
        """Marks the holding as evicted; it keeps its quota until its pods are gone."""
        self.holdings[holding.node.name].evict(holding)

    @contextmanager
    def without(self, holdings: Iterable[Holding]) -> Iterator[None]:
        """Simulates that these have left."""
        gone = list(holdings)
        for holding in gone:
            self.release(holding)
        try:
            yield
        finally:
            for holding in gone:
                self.restore(holding)

    @contextmanager
    def absent(self, holdings: Iterable[Holding]) -> Iterator[None]:
        """Simulates that these have left and cannot be preempted either."""
        gone = list(holdings)
        with self.without(gone):
            for holding in gone:
                self.holdings[holding.node.name].drop(holding)
            try:
                yield
            finally:
                for holding in gone:
                    self.holdings[holding.node.name].put(holding)

    def release(self, holding: Holding) -> None:
        """Simulates that it has left, until it is restored."""
        holding.node.remove(holding.usage)
        if holding.placed:
            self.topologies().remove(holding.placed)

    def restore(self, holding: Holding) -> None:
        holding.node.add(holding.usage)
        if holding.placed:
            self.topologies().add(holding.placed)

    def begin(self, now_ms: int) -> None:
        """Begins a decision."""
        self.now_ms = now_ms
        for rule in (self.min_runtime, self.budgets):
            if rule is not None:
                rule.now_ms = now_ms

    def priority_boost(self, workload: Workload, now_ms: int) -> int:
        """The boost that aging adds to its priority if it waits until then."""
        aging = self.rules.aging
        return 0 if aging is None else aging.boost(now_ms - workload.queued_at_ms)

    def priority_boost_now(self, workload: Workload) -> int:
        return self.priority_boost(workload, self.now_ms)

    def add_reserved(self, workload: Workload, admission: Admission) -> Holding:
        """Adds a workload that has an admission to a queue that exists."""
        node = self.tree.queues[admission.cluster_queue]
        usage = usage_of(admission, workload)
        placed = self._placed(workload, admission)
        held = Holding(workload, node, usage, workload.reserved_at_ms, workload.evicted, placed=placed)
        held.priority_boost = self.priority_boost(workload, workload.reserved_at_ms)
        held.started = True
        self.add_holding(held)
        return held


def usage_of(admission: Admission, workload: Workload) -> dict[FlavorResource, int]:
    """Usage of an admission, less that of pods that are done; resources without a flavor count nowhere."""
    usage: dict[FlavorResource, int] = {}
    for held in still_held(workload, admission):
        for resource, flavor in held.flavors.items():
            fr = FlavorResource(flavor, resource)
            usage[fr] = usage.get(fr, 0) + held.usage.get(resource, 0)
    return usage


def _inactive_queues(snapshot: Snapshot, rules: Rules) -> dict[str, str]:
    inactive = {}
    cyclic = cyclic_cohorts(cohort_parents(snapshot))
    for name, queue in snapshot.cluster_queues.items():
        if queue.problem:
            inactive[name] = queue.problem
        if queue.cohort in cyclic:
            inactive[name] = f"the parents of its cohort {queue.cohort} form a cycle"
        named = {flavors.flavor for group in queue.groups for flavors in group.flavors}
        missing = sorted(named - snapshot.flavors.keys())
        if missing:
            inactive[name] = f"ResourceFlavor {', '.join(missing)} that it names does not exist"
        untold = _missing_topologies(snapshot, named) if rules.topology else []
        if untold:
            inactive[name] = f"Topology {', '.join(untold)} that a flavor of it names does not exist"
    return inactive


def _missing_topologies(snapshot: Snapshot, flavors: Iterable[str]) -> list[str]:
    wanted = {snapshot.flavors[name].topology for name in flavors if name in snapshot.flavors}
    return sorted(name for name in wanted if name is not None and name not in snapshot.topologies)
