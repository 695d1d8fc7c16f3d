"""Decides pass after pass with one engine of the core, which keeps what has not changed.

A Decider holds nothing that the objects do not contain: a new one decides the same. Where the objects
differ from what the engine assumes, as when its last plan was carried out only in part, the objects win.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from muster import admission as core
from muster.controller.cluster.cluster_state import ClusterState
from muster.objects import kueue
from muster.objects.core import RuntimeClass
from muster.objects.limits import LimitRange
from muster.translation import core_nodes, core_workload, snapshot


@dataclass(frozen=True, slots=True)
class Candidate:
    """A Workload, the status and priority to decide with, and the ClusterQueue that it is queued in."""

    workload: kueue.Workload
    status: kueue.WorkloadStatus
    queue: str
    priority: int | None = None  # None: the one in its spec
    limit_ranges: tuple[LimitRange, ...] = ()
    runtime_classes: Mapping[str, RuntimeClass] = field(default_factory=dict)

    def is_same(self, other: "Candidate") -> bool:
        return (
            self.workload is other.workload
            and (self.status is other.status or self.status == other.status)
            and (self.queue, self.priority) == (other.queue, other.priority)
            and self.limit_ranges == other.limit_ranges
            and self.runtime_classes == other.runtime_classes
        )

    def converted(self, rules: core.Rules) -> core.Workload:
        """Returns it for the core. Raises: ValueError (SnapshotError too) for an invalid Workload."""
        return core_workload.workload(
            self.workload,
            self.status,
            self.queue,
            rules,
            self.limit_ranges,
            self.runtime_classes,
            self.priority,
        )


class Decider:
    def __init__(self, rules: core.Rules = core.Rules()) -> None:  # noqa: B008 - a frozen value
        self._rules = rules
        self._platform = PlatformSnapshot()
        self._converted: dict[str, tuple[Candidate, core.Workload]] = {}
        self._engine: core.Engine | None = None  # None after a decision that failed
        self._decided_ms = 0
        self._waiting: dict[str, core.Waiting] = {}

    def decide(self, cluster: ClusterState, candidates: Iterable[Candidate], now_ms: int) -> core.Plan:
        """Returns the plan; its `waiting` has every workload that waits. `candidates` are all pending
        Workloads and all with quota.

        Raises: ValueError (SnapshotError too) for an invalid Workload."""
        workloads = {c.workload.key: self._converted_workload(c) for c in candidates}
        removed = self._converted.keys() - workloads.keys()
        for key in removed:
            del self._converted[key]
        engine = self._updated_engine(cluster, workloads, removed, now_ms)
        plan = engine.decide(now_ms)
        self._engine, self._decided_ms = engine, now_ms
        for key in (*removed, *(decision.workload for decision in plan.admissions)):
            self._waiting.pop(key, None)
        due = [key for key, w in self._waiting.items() if w.until_ms is not None and w.until_ms <= now_ms]
        waiting = engine.waiting(now_ms, chain(engine.affected(), due))
        self._waiting.update((w.workload, w) for w in chain(plan.waiting, waiting))
        return replace(plan, waiting=tuple(self._waiting.values()))

    def _converted_workload(self, candidate: Candidate) -> core.Workload:
        key = candidate.workload.key
        known = self._converted.get(key)
        if known is None or not known[0].is_same(candidate):
            converted = candidate.converted(self._rules)
            known = self._converted[key] = candidate, converted
            if converted.admission is not None:
                self._waiting.pop(key, None)
        return known[1]

    def _updated_engine(
        self,
        cluster: ClusterState,
        workloads: Mapping[str, core.Workload],
        removed: Iterable[str],
        now_ms: int,
    ) -> core.Engine:
        """Returns the engine with the current objects. A change of any object but a Workload concerns all of
        them, and so does a clock that was set back: these start a new engine."""
        engine, self._engine = self._engine, None
        changed = self._platform.refresh(cluster)
        if engine is None or changed or now_ms < self._decided_ms:
            self._waiting.clear()
            snapshot_now = replace(self._platform.snapshot, workloads=tuple(workloads.values()))
            return core.Engine(snapshot_now, self._rules)
        for key in removed:
            engine.remove(key)
        for workload in workloads.values():
            engine.put(workload)
        return engine


class PlatformSnapshot:
    """The core's snapshot without Workloads. It is converted again when a field changes that decisions depend
    on; status fields are not among them."""

    def __init__(self) -> None:
        self._specs: tuple[Any, ...] = ()
        self._placement_objects: tuple[Any, ...] = ()  # Topologies, Nodes and Pods
        self._topologies_and_nodes = core_nodes.topologies_and_nodes((), (), ())
        self.snapshot = snapshot.snapshot((), (), (), ())

    def refresh(self, cluster: ClusterState) -> bool:
        """Converts the objects if they changed. Returns whether they did."""
        specs = (
            _specs(cluster.flavors),
            _specs(cluster.cohorts),
            _specs(cluster.cluster_queues),
            _specs(cluster.checks),
            cluster.namespace_labels,
            cluster.deleted_queues,
        )
        topologies_and_nodes = self._topologies_and_nodes_of(cluster)
        if specs == self._specs and topologies_and_nodes == self._topologies_and_nodes:
            return False
        self.snapshot = snapshot.snapshot(
            cluster.flavors.values(),
            cluster.cohorts.values(),
            cluster.cluster_queues.values(),
            (),
            checks=cluster.checks,
            namespaces=cluster.namespace_labels,
            deleted_queues=cluster.deleted_queues,
            **topologies_and_nodes,
        )
        self._specs, self._topologies_and_nodes = specs, topologies_and_nodes
        return True

    def _topologies_and_nodes_of(self, cluster: ClusterState) -> core_nodes.TopologiesAndNodes:
        topologies, nodes, pods = placement_objects = (
            dict(cluster.topologies),
            dict(cluster.nodes),
            dict(cluster.bound_pods),
        )
        if placement_objects == self._placement_objects:
            return self._topologies_and_nodes
        converted = core_nodes.topologies_and_nodes(topologies.values(), nodes.values(), pods.values())
        self._placement_objects = placement_objects
        return converted


def _specs(objects: Mapping[str, Any]) -> dict[str, Any]:
    return {key: obj.spec for key, obj in objects.items()}
