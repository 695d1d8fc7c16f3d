"""Decides in every pass with the same engine of the core, which is updated incrementally.

All state of a Decider can be derived from the objects: a new Decider decides the same. If the objects differ
from the engine's assumptions, as after a plan that was only partly carried out, the objects take precedence.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from muster import admission as core
from muster.cluster import budget_usage
from muster.cluster.candidates import WorkloadInfo
from muster.cluster.cluster_state import ClusterState
from muster.cluster.platform_snapshot import PlatformSnapshot
from muster.controller.passes.explanations import Explained, ExplanationLimits, Explanations


@dataclass(frozen=True, slots=True)
class PassDecision:
    """The decision of a pass."""

    plan: core.Plan
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
        self._converted: dict[str, tuple[WorkloadInfo, core.Workload]] = {}
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

    def _converted_workload(self, candidate: WorkloadInfo) -> core.Workload:
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
        spent_before, self._spent = self._spent, budget_usage.spent(cluster)
        objects = (
            replace(self._platform.snapshot, spent=self._spent) if self._spent else self._platform.snapshot
        )
        if engine is None or changed or now_ms < self._decided_ms:
            self._explanations.renew()
            workloads = tuple(converted for _, converted in self._converted.values())
            return core.Engine(replace(objects, workloads=workloads), self._rules)
        if self._spent != spent_before:
            engine.update(objects)
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
