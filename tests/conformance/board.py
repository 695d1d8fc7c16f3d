"""The queues of a case, cycle by cycle: one cycle of the core as the engine runs it, and what it wrote."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from muster import admission as core
from muster.admission.cycle.cycle import Cycle
from muster.admission.cycle.entry import REQUEUE, Entry, Outcome
from muster.admission.flavors.attempts import Obstacle
from muster.admission.flavors.topology import needs_second_pass
from muster.admission.preemption.search import Target
from muster.admission.quantities import parse
from muster.admission.queueing.pending import PendingQueue
from muster.admission.queueing.usage import LocalUsage
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState
from muster.objects import topology
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
    Outcome.PREEMPTING: "WaitingForPreemptedWorkloads",
    Outcome.DEFERRED: "WaitingForPreemptedWorkloads",
    Outcome.OVERLAPPING: "WaitingForQuota",
    Outcome.CROWDED_OUT: "WaitingForQuota",
    Outcome.NO_CANDIDATES: "WaitingForQuota",
    Outcome.GATED: "AdmissionGated",
    Outcome.WRONG_NAMESPACE: "Misconfigured",
    Outcome.REFUSED: "Misconfigured",
    Outcome.CHECK_FAILED: "PendingEvaluation",
}
"""Kueue's reasons for QuotaReserved=False by what became of a head."""


class Board:
    """`local_usage` may change while the cycles go on."""

    def __init__(self, case: Case, rules: core.Rules, local_usage: LocalUsage | None = None) -> None:
        self._case = case
        self._local_usage = local_usage
        self.rules = rules
        self.state = self._loaded(case.input)
        self._given_up: set[str] = set()  # who was parked when the queues were put in order again
        self.queues = self._standing()
        self.preempted: set[tuple[str, str]] = set()  # keys of workloads, with the reasons
        self.number = 0
        self.heads: dict[str, Entry] = {}  # of the last cycle in which it was one, by workload

    def _loaded(self, data: Data) -> WorkingState:
        found = snapshot_of(data, self.rules, **_nodes_and_topologies(data))
        if self.rules.fair_sharing is not None:
            found = replace(found, cluster_queues=_undefaulted(found.cluster_queues, data["clusterQueues"]))
        return WorkingState(replace(found, local_usage=self._local_usage or {}), self.rules)

    def _standing(self) -> dict[str, PendingQueue]:
        queues = {
            name: PendingQueue(queue, self.state.tree.queues[name], self._local_usage)
            for name, queue in self.state.snapshot.cluster_queues.items()
        }
        for workload in self._pending():
            if workload.key not in self._given_up:
                queues[workload.cluster_queue].put(workload)
        for pending in queues.values():
            pending.open()
        return queues

    def _pending(self) -> list[core.Workload]:
        """Those that stand in a queue."""
        held, queues = self.held(), self.state.snapshot.cluster_queues
        return [
            workload
            for workload in self.state.snapshot.workloads
            if workload.admission is None and workload.key not in held and workload.cluster_queue in queues
        ]

    def reorder(self) -> None:
        """What LocalQueues used has changed; who is parked stays so."""
        _, parked = self.standing()
        self._given_up = {key for keys in parked.values() for key in keys}
        self.queues = self._standing()

    def requote(self, data: Data) -> None:
        """The case's queues have other quotas now; all workloads may try again."""
        before, held = self.state, self.held()
        self.state = self._loaded(data)
        self.state.generations.update({name: number + 1 for name, number in before.generations.items()})
        for holding in held.values():
            self.state.hold(replace(holding, node=self.state.tree.queues[holding.node.name]))
        self.queues = self._standing()

    def cycle(self) -> list[Entry]:
        """One of all active queues; answers with their heads."""
        self.number += 1
        heads = [*self._second_passes(), *self._popped()]
        Cycle(self.state, self.number, self._case.now_ms).run(heads)
        for head in heads:
            self.heads[head.workload.key] = head
            if head.workload.admission is None:
                self._settle(head)
            if head.outcome is Outcome.PREEMPTING:
                self._send_away(head.targets)
        return heads

    def _send_away(self, targets: Iterable[Target]) -> None:
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
            Entry(head, queue.queue, queue.node, self._preempting(head), last.scan if last else None)
            for name, queue in sorted(self.queues.items())
            if name not in self.state.inactive
            and queue.queue.stop is core.StopPolicy.NONE
            and (head := queue.head()) is not None
            for last in [self.heads.get(head.key)]
        ]

    def _preempting(self, head: core.Workload) -> bool:
        last = self.heads.get(head.key)
        return last is not None and last.outcome in (Outcome.PREEMPTING, Outcome.DEFERRED)

    def _settle(self, head: Entry) -> None:
        queue = self.queues[head.queue.name]
        if head.outcome is not Outcome.ADMITTED:
            flavors_left = head.scan is not None and head.scan.progress.pending
            queue.requeue_head(REQUEUE[head.outcome], flavors_left)
        elif self._case.config.get("statusPatchError"):
            self.state.take_back(self.held()[head.workload.key])  # and it stays the head of its queue
        else:
            queue.admit_head()

    def finish(self, keys: Iterable[str]) -> None:
        """These are gone; all queues of their trees may try again."""
        for key in keys:
            holding = self.held()[key]
            self.state.take_back(holding)
            for queue in self.queues.values():
                if queue.node.root is holding.node.root:
                    queue.open()

    def held(self) -> dict[str, Holding]:
        """Who holds quota, by the workloads' keys."""
        return {key: holding for of in self.state.holdings.values() for key, holding in of.items()}

    def _is_parked(self, workload: core.Workload) -> bool:
        if workload.key in self._given_up:
            return True
        group, _ = self.queues[workload.cluster_queue].place(workload)
        return group.parked

    def standing(self) -> tuple[Data, Data]:
        """Workloads that will be tried again, and those that are parked, by queue."""
        active: dict[str, list[str]] = {}
        parked: dict[str, list[str]] = {}
        for workload in self._pending():
            stands = parked if self._is_parked(workload) else active
            stands.setdefault(workload.cluster_queue, []).append(workload.key)
        return active, parked


def _nodes_and_topologies(data: Data) -> topology.Places:
    return topology.places(
        views(data.get("topologies"), topology.Topology),
        views(data.get("nodes"), topology.Node),
        views(data.get("pods"), topology.BoundPod),
    )


def _undefaulted(
    queues: Mapping[str, core.ClusterQueue], data: Iterable[Data]
) -> dict[str, core.ClusterQueue]:
    """Cases give objects that no API server has seen. Where one would write reclaimWithinCohort: Never
    among a queue's policies, Kueue with fair sharing reads the lack of it as leave to preempt for more
    than the nominal quota (canPreemptWhileBorrowing in pkg/scheduler/flavorassigner), as it reads
    borrowWithinCohort; a queue without any policies never preempts."""
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
    """As cases tell admissions, with amounts as the core counts them."""
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
    """Kueue's reason for QuotaReserved=False."""
    if head.outcome is Outcome.NO_FIT:
        return OBSTACLES[head.assignment.obstacle]
    return REASONS[head.outcome]
