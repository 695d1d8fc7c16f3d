"""The queues of a case: runs the core cycle by cycle, as the engine does, and records the results."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from muster import admission as core
from muster.admission.cycle.cycle import Cycle
from muster.admission.cycle.entry import REQUEUE, Entry, EntryOutcome
from muster.admission.flavors.attempts import Obstacle
from muster.admission.flavors.placement import needs_second_pass
from muster.admission.preemption.search import Target
from muster.admission.quantities import parse
from muster.admission.queueing.pending import PendingQueue
from muster.admission.queueing.usage import LocalUsage
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState
from muster.objects import topology
from muster.translation import core_nodes
from tests.conformance.case import Case, Data
from tests.conformance.objects import snapshot_of, views

OBSTACLES = {
    Obstacle.TOPOLOGY: "TopologyPlacementFailed",
    Obstacle.QUOTA: "WaitingForQuota",
    Obstacle.CAPACITY: "ExceedsMaxQuota",
    Obstacle.MISMATCH: "NoMatchingFlavor",
    None: "Pending",
}
REASONS = {
    EntryOutcome.PREEMPTING: "WaitingForPreemptedWorkloads",
    EntryOutcome.DEFERRED: "WaitingForPreemptedWorkloads",
    EntryOutcome.OVERLAPPING: "WaitingForQuota",
    EntryOutcome.CROWDED_OUT: "WaitingForQuota",
    EntryOutcome.NO_CANDIDATES: "WaitingForQuota",
    EntryOutcome.GATED: "AdmissionGated",
    EntryOutcome.WRONG_NAMESPACE: "Misconfigured",
    EntryOutcome.REFUSED: "Misconfigured",
    EntryOutcome.CHECK_FAILED: "PendingEvaluation",
}
"""Kueue's reasons for QuotaReserved=False by the outcome of a head."""


class Board:
    """The queues of a case; `local_usage` may change between cycles."""

    def __init__(self, case: Case, rules: core.Rules, local_usage: LocalUsage | None = None) -> None:
        self._case = case
        self._local_usage = local_usage
        self.rules = rules
        self.state = self._loaded(case.input)
        self._kept_parked: set[str] = set()  # workloads that were parked before `reorder`
        self.queues = self._new_queues()
        self.preempted: set[tuple[str, str]] = set()  # keys of workloads, with the reasons
        self.number = 0
        self.heads: dict[str, Entry] = {}  # the last entry of each workload that was a head

    def _loaded(self, data: Data) -> WorkingState:
        snapshot = snapshot_of(data, self.rules, **_nodes_and_topologies(data))
        if self.rules.fair_sharing is not None:
            snapshot = replace(
                snapshot, cluster_queues=_undefaulted(snapshot.cluster_queues, data["clusterQueues"])
            )
        return WorkingState(replace(snapshot, local_usage=self._local_usage or {}), self.rules)

    def _new_queues(self) -> dict[str, PendingQueue]:
        queues = {
            name: PendingQueue(queue, self.state.tree.queues[name], self._local_usage)
            for name, queue in self.state.snapshot.cluster_queues.items()
        }
        for workload in self._pending():
            if workload.key not in self._kept_parked:
                queues[workload.cluster_queue].put(workload)
        for pending in queues.values():
            pending.open()
        return queues

    def _pending(self) -> list[core.Workload]:
        """Returns the workloads in queues."""
        held, queues = self.held(), self.state.snapshot.cluster_queues
        return [
            workload
            for workload in self.state.snapshot.workloads
            if workload.admission is None and workload.key not in held and workload.cluster_queue in queues
        ]

    def reorder(self) -> None:
        """Rebuilds the queues after usage of LocalQueues changed; parked workloads stay parked."""
        _, parked = self.pending_and_parked()
        self._kept_parked = {key for keys in parked.values() for key in keys}
        self.queues = self._new_queues()

    def requote(self, data: Data) -> None:
        """Loads other quotas, and retries all workloads."""
        before, held = self.state, self.held()
        self.state = self._loaded(data)
        self.state.generations.update({name: number + 1 for name, number in before.generations.items()})
        for holding in held.values():
            self.state.add_holding(holding.copy(self.state.tree.queues[holding.node.name]))
        self.queues = self._new_queues()

    def cycle(self) -> list[Entry]:
        """Runs one cycle of all active queues, and returns their heads."""
        self.number += 1
        heads = [*self._second_passes(), *self._popped()]
        Cycle(self.state, self.number, self._case.now_ms).run(heads)
        for head in heads:
            self.heads[head.workload.key] = head
            if head.workload.admission is None:
                self._settle(head)
            if head.outcome is EntryOutcome.PREEMPTING:
                self._evict(head.targets)
        return heads

    def _evict(self, targets: Iterable[Target]) -> None:
        for target in targets:
            if not target.holding.evicted:
                self.state.evict(target.holding)
                self.preempted.add((target.holding.workload.key, str(target.reason)))

    def _second_passes(self) -> list[Entry]:
        return [
            Entry(workload, self.state.queue(workload.cluster_queue), holding.node)
            for holding in self.held().values()
            if needs_second_pass(workload := holding.workload)
        ]

    def _popped(self) -> list[Entry]:
        return [
            self._entry(queue, head)
            for name, queue in sorted(self.queues.items())
            if name not in self.state.inactive
            and queue.queue.stop is core.StopPolicy.NONE
            and (head := queue.head()) is not None
        ]

    def _entry(self, queue: PendingQueue, head: core.Workload) -> Entry:
        entry, last = Entry(head, queue.queue, queue.node, self._preempting(head)), self.heads.get(head.key)
        entry.scan = last.scan if last else None
        return entry

    def _preempting(self, head: core.Workload) -> bool:
        last = self.heads.get(head.key)
        return last is not None and last.outcome in (EntryOutcome.PREEMPTING, EntryOutcome.DEFERRED)

    def _settle(self, head: Entry) -> None:
        queue = self.queues[head.queue.name]
        if head.outcome is not EntryOutcome.ADMITTED:
            flavors_left = head.scan is not None and head.scan.progress.pending
            queue.requeue_head(REQUEUE[head.outcome], flavors_left)
        elif self._case.config.get("statusPatchError"):
            self.state.remove_holding(self.held()[head.workload.key])  # it stays the head of its queue
        else:
            queue.admit_head()

    def finish(self, keys: Iterable[str]) -> None:
        """Removes finished workloads, and reopens all queues of their trees."""
        for key in keys:
            holding = self.held()[key]
            self.state.remove_holding(holding)
            for queue in self.queues.values():
                if queue.node.root is holding.node.root:
                    queue.open()

    def held(self) -> dict[str, Holding]:
        """Returns quota holders by workload key."""
        return {key: holding for of in self.state.holdings.values() for key, holding in of.items()}

    def _is_parked(self, workload: core.Workload) -> bool:
        if workload.key in self._kept_parked:
            return True
        group, _ = self.queues[workload.cluster_queue].place(workload)
        return group.parked

    def pending_and_parked(self) -> tuple[Data, Data]:
        """Returns pending workloads that will be retried, and parked ones, by queue."""
        active: dict[str, list[str]] = {}
        parked: dict[str, list[str]] = {}
        for workload in self._pending():
            queues = parked if self._is_parked(workload) else active
            queues.setdefault(workload.cluster_queue, []).append(workload.key)
        return active, parked


def _nodes_and_topologies(data: Data) -> core_nodes.TopologiesAndNodes:
    return core_nodes.topologies_and_nodes(
        views(data.get("topologies"), topology.Topology),
        views(data.get("nodes"), topology.Node),
        views(data.get("pods"), topology.BoundPod),
    )


def _undefaulted(
    queues: Mapping[str, core.ClusterQueue], data: Iterable[Data]
) -> dict[str, core.ClusterQueue]:
    """Undoes a default that an API server would have set, because cases contain objects without defaults.

    With fair sharing, Kueue treats a missing reclaimWithinCohort like borrowWithinCohort: the queue may
    preempt while it borrows (canPreemptWhileBorrowing in pkg/scheduler/flavorassigner). An API server would
    default it to Never. A queue without any preemption policies never preempts."""
    lacking = {
        of["metadata"]["name"]
        for of in data
        if (policies := of["spec"].get("preemption")) is not None and "reclaimWithinCohort" not in policies
    }
    return {
        name: replace(queue, borrow_within_cohort=core.BorrowWithinCohort()) if name in lacking else queue
        for name, queue in queues.items()
    }


def neutral(admission: core.Admission) -> Data:
    """Returns an admission in the form of cases, with amounts in the core's units."""
    return {
        "clusterQueue": admission.cluster_queue,
        "podSets": [
            {"name": of.name, "count": of.count, "flavors": dict(of.flavors), "usage": dict(of.usage)}
            for of in admission.pod_sets
        ],
    }


def neutral_of(expected: Data) -> Data:
    return {
        "clusterQueue": expected["clusterQueue"],
        "podSets": [
            {
                "name": of["name"],
                "count": of["count"],
                "flavors": of.get("flavors") or {},
                "usage": {r: parse(r, q) for r, q in (of.get("resourceUsage") or {}).items()},
            }
            for of in expected["podSets"]
        ],
    }


def reason(head: Entry) -> str:
    """Returns Kueue's reason for QuotaReserved=False."""
    if head.outcome is EntryOutcome.NO_FIT:
        return OBSTACLES[head.assignment.obstacle]
    return REASONS[head.outcome]
