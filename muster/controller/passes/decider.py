"""Decides pass after pass with one engine of the core, which keeps what has not changed.

A Decider holds nothing that the objects do not contain: a fresh one decides the same. Where the objects
differ from what the engine assumes, as when its last plan was carried out only in part, the objects are
right, and it is given their contents again.
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
class Gang:
    """A Workload, the status and priority to decide with, and the ClusterQueue that it is queued in."""

    obj: kueue.Workload
    status: kueue.WorkloadStatus
    queue: str
    priority: int | None = None  # None: the one in its spec
    limit_ranges: tuple[LimitRange, ...] = ()
    runtime_classes: Mapping[str, RuntimeClass] = field(default_factory=dict)

    def is_like(self, other: "Gang") -> bool:
        return (
            self.obj is other.obj
            and (self.status is other.status or self.status == other.status)
            and (self.queue, self.priority) == (other.queue, other.priority)
            and self.limit_ranges == other.limit_ranges
            and self.runtime_classes == other.runtime_classes
        )


class Decider:
    def __init__(self, rules: core.Rules = core.Rules()) -> None:  # noqa: B008 - a frozen value
        self._rules = rules
        self._platform = Platform()
        self._read: dict[str, tuple[Gang, core.Workload]] = {}
        self._engine: core.Engine | None = None  # None after a decision that failed
        self._decided_ms = 0
        self._waiting: dict[str, core.Waiting] = {}

    def decide(self, cluster: ClusterState, gangs: Iterable[Gang], now_ms: int) -> core.Plan:
        """`gangs`: all pending ones and all with quota. The plan's `waiting` has every workload that waits.

        Raises: ValueError (SnapshotError too) for an invalid Workload."""
        workloads = {gang.obj.key: self._workload(gang) for gang in gangs}
        gone = self._read.keys() - workloads.keys()
        for key in gone:
            del self._read[key]
        engine = self._in_step(cluster, workloads, gone, now_ms)
        plan = engine.decide(now_ms)
        self._engine, self._decided_ms = engine, now_ms
        for key in (*gone, *(decision.workload for decision in plan.admissions)):
            self._waiting.pop(key, None)
        due = [key for key, w in self._waiting.items() if w.until_ms is not None and w.until_ms <= now_ms]
        again = engine.waiting(now_ms, chain(engine.affected(), due))
        self._waiting.update((waiting.workload, waiting) for waiting in chain(plan.waiting, again))
        return replace(plan, waiting=tuple(self._waiting.values()))

    def _workload(self, gang: Gang) -> core.Workload:
        key = gang.obj.key
        known = self._read.get(key)
        if known is None or not known[0].is_like(gang):
            made = core_workload.workload(
                gang.obj,
                gang.status,
                gang.queue,
                self._rules,
                gang.limit_ranges,
                gang.runtime_classes,
                gang.priority,
            )
            known = self._read[key] = gang, made
            if made.admission is not None:
                self._waiting.pop(key, None)
        return known[1]

    def _in_step(
        self, cluster: ClusterState, workloads: Mapping[str, core.Workload], gone: Iterable[str], now_ms: int
    ) -> core.Engine:
        """Returns the engine with the current objects. A change of any object but a Workload concerns all of
        them, and so does a clock that was set back: these start a new engine."""
        engine, self._engine = self._engine, None
        changed = self._platform.look(cluster)
        if engine is None or changed or now_ms < self._decided_ms:
            self._waiting.clear()
            objects = replace(self._platform.objects, workloads=tuple(workloads.values()))
            return core.Engine(objects, self._rules)
        for key in gone:
            engine.remove(key)
        for workload in workloads.values():
            engine.put(workload)
        return engine


class Platform:
    """The core's objects of a decision except for the workloads. They are converted again when a field
    changes that decisions depend on; status fields are not among them."""

    def __init__(self) -> None:
        self._specs: tuple[Any, ...] = ()
        self._around: tuple[Any, ...] = ()  # Topologies, Nodes and Pods
        self._places = core_nodes.places((), (), ())
        self.objects = snapshot.snapshot((), (), (), ())

    def look(self, cluster: ClusterState) -> bool:
        """Converts the objects if they changed. Returns whether they did."""
        specs = (
            _specs(cluster.flavors),
            _specs(cluster.cohorts),
            _specs(cluster.cluster_queues),
            _specs(cluster.checks),
            cluster.namespace_labels,
            cluster.deleted_queues,
        )
        places = self._look_around(cluster)
        if specs == self._specs and places == self._places:
            return False
        self.objects = snapshot.snapshot(
            cluster.flavors.values(),
            cluster.cohorts.values(),
            cluster.cluster_queues.values(),
            (),
            checks=cluster.checks,
            namespaces=cluster.namespace_labels,
            deleted_queues=cluster.deleted_queues,
            **places,
        )
        self._specs, self._places = specs, places
        return True

    def _look_around(self, cluster: ClusterState) -> core_nodes.Places:
        topologies, nodes, pods = around = (
            dict(cluster.topologies),
            dict(cluster.nodes),
            dict(cluster.bound_pods),
        )
        if around == self._around:
            return self._places
        places = core_nodes.places(topologies.values(), nodes.values(), pods.values())
        self._around = around
        return places


def _specs(objects: Mapping[str, Any]) -> dict[str, Any]:
    return {key: obj.spec for key, obj in objects.items()}
