"""Passes that examine only what changed, compared with passes that examine everything."""

from collections.abc import Container, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from unittest.mock import patch
from weakref import WeakKeyDictionary

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.pod_checks import Key, PodChecks
from muster.cluster.pass_cache import PassCache
from muster.configuration.configuration import Configuration
from muster.controller.metrics.gauges import QueueGauges
from muster.controller.passes.explanations import ExplanationLimits
from muster.controller.passes.pass_memory import PassMemory
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.passes.reconcile import reconcile
from muster.controller.process import loop
from tests.simulation.invariants import Broken


class Asked(PodChecks):
    """Returns the results of another instance, and records the requested keys."""

    def __init__(self, other: PodChecks) -> None:
        self._other = other
        self.keys: set[Key] = set()

    def refusal(self, key: Key, job: Job, workload: str) -> str | None:
        self.keys.add(key)
        result = self._other._results.get(key)
        return None if result is None else result.refusal

    def take_changed(self) -> set[str]:
        return set()


class Twice:
    """Plans every pass with what is kept, and from scratch. Replaces `reconcile`."""

    def __init__(self) -> None:
        self.passes = 0
        self._gauges = WeakKeyDictionary[PassMemory, QueueGauges]()

    def __call__(
        self,
        cluster: ClusterState,
        now_ms: int,
        backing_off: Container[str],
        configuration: Configuration,
        memory: PassMemory,
        limits: ExplanationLimits,
    ) -> PassPlan:
        """Explains all pending workloads regardless of the limits, as the selection is not compared."""
        assert cluster.pod_checks is not None
        asked = Asked(cluster.pod_checks)
        fresh = replace(
            cluster,
            cache=PassCache(),
            timers=deepcopy(cluster.timers),
            pod_checks=asked,
            relations=None,
            marks=None,
        )
        plan = reconcile(cluster, now_ms, backing_off, configuration, memory)
        scratch = reconcile(fresh, now_ms, backing_off, configuration)
        if plan != scratch:
            raise _broken(f"a pass plans {plan}, and from scratch {scratch}")
        if cluster.timers.running != fresh.timers.running:
            raise _broken(f"a pass times {cluster.timers.running}, and from scratch {fresh.timers.running}")
        if not cluster.pod_checks._gangs.keys() >= asked.keys:
            raise _broken(f"a pass does not ask for {asked.keys - cluster.pod_checks._gangs.keys()}")
        gauges = values(self._gauges.setdefault(memory, QueueGauges()), cluster, plan)
        from_scratch = values(QueueGauges(), fresh, scratch)
        if gauges != from_scratch:
            raise _broken(f"the gauges are {gauges}, and from scratch {from_scratch}")
        self.passes += 1
        return plan


def values(gauges: QueueGauges, cluster: ClusterState, plan: PassPlan) -> dict[str, float]:
    """Returns the values after a pass by name and labels."""
    gauges.update(cluster, plan.statistics)
    samples = (sample for family in gauges.collect() for sample in family.samples)
    return {f"{s.name} {' '.join(s.labels.values())}": s.value for s in samples}


def _broken(message: str) -> Broken:
    broken = Broken(message)
    broken.rule = "full pass"
    return broken


@contextmanager
def compared(while_: bool = True) -> Iterator[Twice]:
    """Compares the passes of all controllers meanwhile, if so asked."""
    twice = Twice()
    with patch.object(loop, "reconcile", twice) if while_ else nullcontext():
        yield twice
