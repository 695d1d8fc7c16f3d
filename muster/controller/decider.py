"""The core's decisions of one pass after another: what has not changed is neither read nor tried again.

Whatever a Decider remembers can be had from the objects: a fresh one decides the same. The objects
are right where they say something else than the engine takes for granted: its last plan was not, or
only in part, carried out, and what they say is put to it again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from muster import admission as core
from muster.controller.world import World
from muster.objects import gangs, kueue, snapshot, topology
from muster.objects.core import RuntimeClass
from muster.objects.limits import LimitRange


@dataclass(frozen=True, slots=True)
class Gang:
    """A Workload, what it is to be taken for, and the ClusterQueue that it stands in."""

    obj: kueue.Workload
    status: kueue.WorkloadStatus
    queue: str
    priority: int | None = None  # if not what it says itself
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
        self._engine: core.Engine | None = None  # none after a decision that failed
        self._decided_ms = 0
        self._waiting: dict[str, core.Waiting] = {}

    def decide(self, world: World, standing: Iterable[Gang], now_ms: int) -> core.Plan:
        """`standing` are all who are pending or hold quota. The plan tells of everybody who waits.

        Raises: ValueError (SnapshotError too) for a Workload that makes no sense."""
        workloads = {gang.obj.key: self._workload(gang) for gang in standing}
        gone = self._read.keys() - workloads.keys()
        for key in gone:
            del self._read[key]
        engine = self._in_step(world, workloads, gone, now_ms)
        plan = engine.decide(now_ms)
        self._engine, self._decided_ms = engine, now_ms
        for key in (*gone, *(decision.workload for decision in plan.admissions)):
            self._waiting.pop(key, None)
        due = [key for key, w in self._waiting.items() if w.until_ms is not None and w.until_ms <= now_ms]
        anew = engine.waiting(now_ms, chain(engine.affected(), due))
        self._waiting.update((waiting.workload, waiting) for waiting in chain(plan.waiting, anew))
        return replace(plan, waiting=tuple(self._waiting.values()))

    def _workload(self, gang: Gang) -> core.Workload:
        key = gang.obj.key
        known = self._read.get(key)
        if known is None or not known[0].is_like(gang):
            made = gangs.workload(
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
        self, world: World, workloads: Mapping[str, core.Workload], gone: Iterable[str], now_ms: int
    ) -> core.Engine:
        """The engine with all objects as they are. A new one is made for whatever changed but Workloads,
        which concerns them all, and if the clock was put back."""
        engine, self._engine = self._engine, None
        changed = self._platform.look(world)
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
    """All objects of a decision but the Workloads. They are read again when something changes that a
    decision goes by, which no status of theirs is."""

    def __init__(self) -> None:
        self._specs: tuple[Any, ...] = ()
        self._around: tuple[Any, ...] = ()  # Topologies, Nodes and Pods
        self._places = topology.places((), (), ())
        self.objects = snapshot.snapshot((), (), (), ())

    def look(self, world: World) -> bool:
        """Whether `objects` are others now."""
        specs = (
            _specs(world.flavors),
            _specs(world.cohorts),
            _specs(world.cluster_queues),
            _specs(world.checks),
            world.namespace_labels,
            world.vanished_queues,
        )
        places = self._look_around(world)
        if specs == self._specs and places == self._places:
            return False
        self.objects = snapshot.snapshot(
            world.flavors.values(),
            world.cohorts.values(),
            world.cluster_queues.values(),
            (),
            checks=world.checks,
            namespaces=world.namespace_labels,
            vanished=world.vanished_queues,
            **places,
        )
        self._specs, self._places = specs, places
        return True

    def _look_around(self, world: World) -> topology.Places:
        topologies, nodes, pods = around = dict(world.topologies), dict(world.nodes), dict(world.bound_pods)
        if around == self._around:
            return self._places
        places = topology.places(topologies.values(), nodes.values(), pods.values())
        self._around = around
        return places


def _specs(objects: Mapping[str, Any]) -> dict[str, Any]:
    return {key: obj.spec for key, obj in objects.items()}
