"""Decides in every pass with the same engine of the core, which is updated incrementally.

All state of a Decider can be derived from the objects: a new Decider decides the same. If the objects differ
from the engine's assumptions, as after a plan that was only partly carried out, the objects take precedence.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from muster import admission as core
from muster.cluster import budget_usage
from muster.cluster.candidates import WorkloadInfo
from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import may_grow
from muster.cluster.platform_snapshot import PlatformSnapshot
from muster.controller.passes.explanations import Explained, ExplanationLimits, Explanations
from muster.controller.passes.growth_offers import ElasticGang, offered
from muster.controller.workload.growth import Resize, of_gangs
from muster.translation.elastic import ElasticPodSet, gang_of, is_surplus, next_replicas


@dataclass(frozen=True, slots=True)
class PassDecision:
    """The decision of a pass."""

    # For whole gangs.
    plan: core.Plan
    # The gangs that get more or less surplus, by key.
    resizes: Mapping[str, Resize]
    # Why pending candidates wait; without candidates that have not been explained yet.
    waiting: Explanations
    # The explanations that this pass added.
    explained: Explained
    # False: `waiting` is the same as after the last decision.
    waiting_changed: bool
    # The next time at which a reason may change without a change of objects.
    until_ms: int | None


class Decider:
    """Decides with one engine for all passes, so that a pass computes only what has changed since the
    previous one."""

    def __init__(self, rules: core.Rules = core.Rules()) -> None:  # noqa: B008 - a frozen value
        self._rules = rules
        self._platform = PlatformSnapshot()
        self._spent: Mapping[str, tuple[core.Spent, ...]] = {}  # the recorded usage in the engine
        self._converted: dict[str, tuple[WorkloadInfo, tuple[core.Workload, ...]]] = {}
        self._elastic: set[str] = set()  # keys of the elastic gangs with quota
        self._engine: core.Engine | None = None  # None after a decision that failed
        self._decided_ms = 0
        self._explanations = Explanations()
        self._assumed: set[str] = set()  # workloads for which the engine assumes the outcome of its last plan

    def decide(
        self,
        cluster: ClusterState,
        changed: Mapping[str, WorkloadInfo | None],
        now_ms: int,
        limits: ExplanationLimits | None = None,
    ) -> PassDecision:
        """Decides on all candidates. `changed` contains the candidates that changed since the last decision,
        by key; None if the Workload is no longer a candidate. Without `limits`, explains all of them.

        Raises: ValueError (including SnapshotError) for an invalid Workload."""
        removed = [key for key, candidate in changed.items() if candidate is None and key in self._converted]
        self._elastic.difference_update(removed)
        gone = [workload.key for key in removed for workload in self._converted.pop(key)[1]]
        updated: dict[str, tuple[core.Workload, ...]] = {}
        for key, candidate in changed.items():
            if candidate is not None:
                before = self._converted.get(key)
                updated[key] = self._converted_workloads(candidate)
                gone += _dropped(before[1], updated[key]) if before is not None else ()
        engine = self._updated_engine(cluster, updated, gone, now_ms)
        plan = engine.decide(now_ms, explain=False)
        self._engine, self._decided_ms = engine, now_ms
        explanations = self._explanations
        for key in (*gone, *(decision.workload for decision in plan.admissions)):
            explanations.forget(key)
        explained = explanations.explain(engine, now_ms, limits)
        # Workloads that are not explained yet keep the outcome of this attempt, which no status contains yet.
        self._assumed = {*_planned_workloads(plan), *explained.keys}
        gangs = of_gangs(plan, lambda key: self._converted[key][1])
        # Time may change a decision although no explanation names it: another queue's soft budget is used up.
        due = (at_ms for at_ms in (explanations.until_ms, engine.next_ms) if at_ms is not None)
        return PassDecision(
            gangs.plan,
            gangs.resizes,
            explanations,
            explained,
            explanations.take_changed(),
            until_ms=min(due, default=None),
        )

    def budget_usage(self, now_ms: int) -> Sequence[core.BudgetUsage]:
        """Returns the usage of all budgets, as of the last decision."""
        return () if self._engine is None else self._engine.budget_usage(now_ms)

    def queue_order(self, queue: str) -> Sequence[str]:
        """Returns the keys of the workloads pending in a ClusterQueue, in the order in which the next
        decision tries them."""
        if self._engine is None:
            return []
        return [k for k in self._engine.queue_order(queue, self._decided_ms) if not is_surplus(k)]

    def offers(self, cluster: ClusterState) -> Mapping[str, Mapping[str, int]]:
        """Returns the replicas of each pod set that would be admitted after the last decision if the job
        asked for them, by the key of its elastic gang with quota."""
        offers: dict[str, Mapping[str, int]] = {key: {} for key in sorted(self._elastic)}
        growing = [
            ElasticGang(key, converted[0], candidate.elastic)
            for key in offers
            for candidate, converted in [self._converted[key]]
            if may_grow(candidate.workload, candidate.status, cluster)
        ]
        placed = bool(self._platform.snapshot.topologies)
        if self._engine is not None:
            offers |= offered(self._engine, growing, self._decided_ms, placed=placed)
        return offers

    def elastic_gangs(self) -> Iterator[tuple[str, Mapping[str, ElasticPodSet]]]:
        """Yields each elastic gang with quota, by key, and its elastic pod sets before the last decision."""
        for key in sorted(self._elastic):
            yield key, self._converted[key][0].elastic

    def growth_waits(self, key: str, full: Container[str], now_ms: int) -> Mapping[str, core.Waiting]:
        """Returns why the next replica of each pod set of an elastic gang waits, or would if the job asked
        for it; without pod sets whose next replica fits. `full` are those without free quota for one."""
        candidate, (gang, *surplus) = self._converted[key]
        assert self._engine is not None, "a gang has quota only after a decision"
        waits: dict[str, core.Waiting] = {}
        for replica in surplus:
            name = replica.pod_sets[0].name
            if replica.admission is None and name not in waits:
                waits.update((name, waiting) for waiting in self._engine.waiting(now_ms, [replica.key]))
        for name, replica in next_replicas(gang, candidate.elastic).items():
            lacks = self._engine.lacks(replica, now_ms) if name in full and name not in waits else None
            if lacks is not None:
                waits[name] = lacks
        return waits

    def _converted_workloads(self, candidate: WorkloadInfo) -> tuple[core.Workload, ...]:
        key = candidate.workload.key
        cached = self._converted.get(key)
        if cached is None or not cached[0].is_same(candidate):
            converted = candidate.converted(self._rules)
            cached = self._converted[key] = candidate, converted
            if candidate.elastic:
                self._elastic.add(key)
            else:
                self._elastic.discard(key)
            if converted[0].admission is not None:
                self._explanations.forget(key)
        return cached[1]

    def _updated_engine(
        self,
        cluster: ClusterState,
        updated: Mapping[str, tuple[core.Workload, ...]],
        removed: Iterable[str],
        now_ms: int,
    ) -> core.Engine:
        """Returns the engine with the current objects. Changes of objects other than Workloads affect all
        Workloads, and so does a clock that was set back: in these cases returns a new engine."""
        engine, self._engine = self._engine, None
        changed = self._platform.refresh(cluster)
        spent_before, self._spent = self._spent, budget_usage.spent(cluster)
        objects = (
            replace(self._platform.snapshot, spent=self._spent) if self._spent else self._platform.snapshot
        )
        if engine is None or changed or now_ms < self._decided_ms:
            self._explanations.renew()
            workloads = tuple(workload for _, converted in self._converted.values() for workload in converted)
            return core.Engine(replace(objects, workloads=workloads), self._rules)
        if self._spent != spent_before:
            engine.update(objects)
        for key in removed:
            engine.remove(key)
        for workloads in updated.values():
            for workload in workloads:
                engine.put(workload)
        for key in sorted({gang_of(key) for key in self._assumed} - updated.keys()):
            for workload in self._converted[key][1] if key in self._converted else ():
                engine.put(workload)
        return engine


def _dropped(before: Iterable[core.Workload], now: Iterable[core.Workload]) -> Iterator[str]:
    """Yields the keys of surplus that no longer exists."""
    keys = {workload.key for workload in now}
    yield from (workload.key for workload in before if workload.key not in keys)


def _planned_workloads(plan: core.Plan) -> Iterator[str]:
    """Yields the keys of the workloads that the plan changes."""
    yield from (admission.workload for admission in plan.admissions)
    yield from (preemption.workload for preemption in plan.preemptions)
    yield from (*plan.drained, *plan.replaced, *plan.displaced)
