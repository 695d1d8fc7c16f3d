"""Decides in every pass with the same engine of the core, which is updated incrementally.

All state of a Decider can be derived from the objects: a new Decider decides the same. If the objects differ
from the engine's assumptions, as after a plan that was only partly carried out, the objects take precedence.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from muster import admission as core
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.passes.explanations import Explained, Explanations, Limits
from muster.objects import kueue
from muster.objects.core import RuntimeClass
from muster.objects.limits import LimitRange
from muster.translation import core_nodes, core_workload, snapshot


@dataclass(frozen=True, slots=True)
class Candidate:
    """A Workload with the status, the priority and the ClusterQueue for the decision."""

    workload: kueue.Workload
    status: kueue.WorkloadStatus
    queue: str
    priority: int | None = None  # None: the priority in its spec
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
        """Converts the Workload for the core. Raises: ValueError (including SnapshotError) if it is
        invalid."""
        return core_workload.workload(
            self.workload,
            self.status,
            self.queue,
            rules,
            self.limit_ranges,
            self.runtime_classes,
            self.priority,
        )


@dataclass(frozen=True, slots=True)
class PassDecision:
    """The decision of a pass. `waiting` contains the reasons why pending candidates wait, as far as they are
    explained; unless `waiting_changed`, they are those of the last decision. `until_ms` is the next time at
    which a reason may change without a change of objects."""

    plan: core.Plan
    waiting: Explanations
    explained: Explained
    waiting_changed: bool
    until_ms: int | None


class Decider:
    def __init__(self, rules: core.Rules = core.Rules()) -> None:  # noqa: B008 - a frozen value
        self._rules = rules
        self._platform = PlatformSnapshot()
        self._converted: dict[str, tuple[Candidate, core.Workload]] = {}
        self._engine: core.Engine | None = None  # None after a decision that failed
        self._decided_ms = 0
        self._explanations = Explanations()
        self._assumed: set[str] = set()  # workloads for which the engine assumes the outcome of its last plan

    def decide(
        self,
        cluster: ClusterState,
        changed: Mapping[str, Candidate | None],
        now_ms: int,
        limits: Limits | None = None,
    ) -> PassDecision:
        """Decides on all candidates. `changed` contains the candidates that changed since the last decision,
        by key; None if the Workload is no longer a candidate. Without `limits`, explains all of them.

        Raises: ValueError (including SnapshotError) for an invalid Workload."""
        removed = [key for key, candidate in changed.items() if candidate is None and key in self._converted]
        for key in removed:
            del self._converted[key]
        updated = {key: self._converted_workload(c) for key, c in changed.items() if c is not None}
        engine = self._updated_engine(cluster, updated, removed, now_ms)
        plan = engine.decide(now_ms, explain=False)
        self._engine, self._decided_ms = engine, now_ms
        explanations = self._explanations
        for key in (*removed, *(decision.workload for decision in plan.admissions)):
            explanations.forget(key)
        explained = explanations.explain(engine, now_ms, limits)
        # Workloads that are not explained yet keep the outcome of this attempt, which no status contains yet.
        self._assumed = {*_planned_workloads(plan), *explained.keys}
        changed_reasons, until_ms = explanations.take_changed(), explanations.until_ms
        return PassDecision(plan, explanations, explained, changed_reasons, until_ms)

    def queue_order(self, queue: str) -> Sequence[str]:
        """Returns the keys of the workloads pending in a ClusterQueue, in the order in which the next
        decision tries them."""
        return [] if self._engine is None else self._engine.queue_order(queue, self._decided_ms)

    def _converted_workload(self, candidate: Candidate) -> core.Workload:
        key = candidate.workload.key
        cached = self._converted.get(key)
        if cached is None or not cached[0].is_same(candidate):
            converted = candidate.converted(self._rules)
            cached = self._converted[key] = candidate, converted
            if converted.admission is not None:
                self._explanations.forget(key)
        return cached[1]

    def _updated_engine(
        self,
        cluster: ClusterState,
        updated: Mapping[str, core.Workload],
        removed: Iterable[str],
        now_ms: int,
    ) -> core.Engine:
        """Returns the engine with the current objects. Changes of objects other than Workloads affect all
        Workloads, and so does a clock that was set back: in these cases returns a new engine."""
        engine, self._engine = self._engine, None
        changed = self._platform.refresh(cluster)
        if engine is None or changed or now_ms < self._decided_ms:
            self._explanations.renew()
            workloads = tuple(converted for _, converted in self._converted.values())
            return core.Engine(replace(self._platform.snapshot, workloads=workloads), self._rules)
        for key in removed:
            engine.remove(key)
        for workload in updated.values():
            engine.put(workload)
        for key in self._assumed:
            cached = self._converted.get(key)
            if cached is not None and key not in updated:
                engine.put(cached[1])
        return engine


def _planned_workloads(plan: core.Plan) -> Iterator[str]:
    """Yields the keys of the workloads that the plan changes."""
    yield from (admission.workload for admission in plan.admissions)
    yield from (preemption.workload for preemption in plan.preemptions)
    yield from (*plan.drained, *plan.replaced, *plan.displaced)


class PlatformSnapshot:
    """The core's snapshot without Workloads, converted again only if fields changed that decisions depend on;
    status fields are not among them."""

    def __init__(self) -> None:
        self._objects: tuple[Any, ...] = ()
        self._specs: tuple[Any, ...] = ()
        self._placement_objects: tuple[Any, ...] = ()  # Topologies, Nodes and Pods
        self._topologies_and_nodes = core_nodes.topologies_and_nodes((), (), ())
        self.snapshot = snapshot.snapshot((), (), (), ())

    def refresh(self, cluster: ClusterState) -> bool:
        """Converts the objects again if they changed. Returns whether the snapshot changed."""
        topologies_and_nodes = self._topologies_and_nodes_of(cluster)
        objects = (
            dict(cluster.flavors),
            dict(cluster.cohorts),
            dict(cluster.cluster_queues),
            dict(cluster.checks),
            dict(cluster.namespaces),
            cluster.unobserved_namespaces,
            cluster.deleted_queues,
        )
        same_nodes = topologies_and_nodes == self._topologies_and_nodes
        # Usually the objects are identical; comparing all specs takes a millisecond with 1,000 queues.
        if objects == self._objects and same_nodes:
            return False
        self._objects = objects
        specs = (
            {name: (flavor.spec, flavor.node_sizes) for name, flavor in cluster.flavors.items()},
            _specs(cluster.cohorts),
            _specs(cluster.cluster_queues),
            _specs(cluster.checks),
            cluster.namespace_labels,
            cluster.deleted_queues,
        )
        if specs == self._specs and same_nodes:
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
