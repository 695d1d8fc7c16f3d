"""The working state of one decision: who holds quota now, as the cycles go on."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from muster.admission.model import (
    Admission,
    ClusterQueue,
    FlavorResource,
    Snapshot,
    StopPolicy,
    Workload,
)
from muster.admission.quota.tree import QuotaNode, QuotaTree, cohort_parents, cyclic_cohorts


@dataclass(slots=True, eq=False)
class Holding:
    """A workload that holds quota in a queue."""

    workload: Workload
    node: QuotaNode  # of the queue that admitted it
    usage: dict[FlavorResource, int]
    reserved_at_ms: int
    evicted: bool  # it is leaving, but its pods may still run
    admission: Admission | None = None  # set if this decision admits it

    def uses(self, resources: Iterable[FlavorResource]) -> bool:
        return any(fr in self.usage for fr in resources)


class WorkingState:
    """The snapshot's quota tree with its holdings; `inactive` queues have a sentence why."""

    __slots__ = ("holdings", "inactive", "snapshot", "tree", "versions")

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.inactive = _inactive_queues(snapshot)
        active = {
            name
            for name, queue in snapshot.cluster_queues.items()
            if name not in self.inactive and queue.stop is StopPolicy.NONE
        }
        self.tree = QuotaTree(snapshot, active)
        self.holdings: dict[str, dict[str, Holding]] = {name: {} for name in self.tree.queues}
        self.versions: dict[QuotaNode, int] = {node.root: 0 for node in self.tree.queues.values()}
        for workload in snapshot.workloads:
            if workload.admission is not None and workload.admission.cluster_queue in self.tree.queues:
                self._hold_reserved(workload, workload.admission)

    def queue(self, name: str) -> ClusterQueue:
        return self.snapshot.cluster_queues[name]

    def version(self, node: QuotaNode) -> int:
        """Changes whenever an answer for a queue of this node's tree may change."""
        return self.versions[node.root]

    def hold(self, holding: Holding) -> None:
        holding.node.add(holding.usage)
        self.holdings[holding.node.name][holding.workload.key] = holding
        self.versions[holding.node.root] += 1

    def take_back(self, holding: Holding) -> None:
        """Undoes an admission of this decision."""
        holding.node.remove(holding.usage)
        del self.holdings[holding.node.name][holding.workload.key]
        self.versions[holding.node.root] += 1

    def evict(self, holding: Holding) -> None:
        """The holding is told to leave; it keeps its quota until its pods are gone."""
        holding.evicted = True
        self.versions[holding.node.root] += 1

    @contextmanager
    def without(self, holdings: Iterable[Holding]) -> Iterator[None]:
        """As if these had left already."""
        gone = list(holdings)
        for holding in gone:
            holding.node.remove(holding.usage)
        try:
            yield
        finally:
            for holding in gone:
                holding.node.add(holding.usage)

    def _hold_reserved(self, workload: Workload, admission: Admission) -> None:
        node = self.tree.queues[admission.cluster_queue]
        usage = usage_of(admission)
        self.hold(Holding(workload, node, usage, workload.reserved_at_ms, workload.evicted))


def usage_of(admission: Admission) -> dict[FlavorResource, int]:
    """What an admission takes; resources without a flavor count nowhere."""
    usage: dict[FlavorResource, int] = {}
    for pod_set in admission.pod_sets:
        for resource, flavor in pod_set.flavors.items():
            fr = FlavorResource(flavor, resource)
            usage[fr] = usage.get(fr, 0) + pod_set.usage.get(resource, 0)
    return usage


def _inactive_queues(snapshot: Snapshot) -> dict[str, str]:
    inactive = {}
    cyclic = cyclic_cohorts(cohort_parents(snapshot))
    for name, queue in snapshot.cluster_queues.items():
        if queue.cohort in cyclic:
            inactive[name] = f"the parents of its cohort {queue.cohort} form a cycle"
        named = {flavors.flavor for group in queue.groups for flavors in group.flavors}
        missing = sorted(named - snapshot.flavors.keys())
        if missing:
            inactive[name] = f"ResourceFlavor {', '.join(missing)} that it names does not exist"
    return inactive
