"""Runs a step in the core: decides on the API server's objects, with the controller's snapshot builder and
its transitions, until nothing changes."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from muster import admission as core
from muster.controller.workload import transitions
from muster.controller.workload.decisions import WAIT_REASONS
from muster.objects import kueue, kueue_queues, workload_status
from muster.objects.meta import millis
from muster.translation import core_workload, snapshot
from tests.conformance.differential.outcome import Outcome, held_by

ROUNDS_MAX = 30  # of: decide, write, release the victims' quota


@dataclass(frozen=True)
class Objects:
    flavors: tuple[kueue_queues.ResourceFlavor, ...]
    cohorts: tuple[kueue_queues.Cohort, ...]
    cluster_queues: tuple[kueue_queues.ClusterQueue, ...]
    local_queues: Mapping[str, kueue_queues.LocalQueue]  # by key


def outcome(objects: Objects, workloads: Mapping[str, kueue.Workload], rules: core.Rules) -> Outcome:
    """Returns the step's outcome; `workloads` are the unfinished ones at its beginning, by key."""
    now_ms = 1000 + max((_latest(w) for w in workloads.values()), default=0)
    current = dict(workloads)
    preempted: dict[str, str] = {}
    for _ in range(ROUNDS_MAX):
        plan = core.decide(_snapshot(objects, current, rules), now_ms, rules)
        _carry_out(plan, current, now_ms)
        for victim in plan.preemptions:
            preempted[current[victim.workload].metadata.name] = victim.reason
        leaving = [key for key, w in current.items() if leaves(w)]
        for key in leaving:
            _change(current, key, transitions.release, now_ms)
        if not (plan.admissions or leaving):
            return Outcome(held_by(current.values()), preempted)
    raise AssertionError(f"nothing settled after {ROUNDS_MAX} rounds")


def _carry_out(plan: core.Plan, current: dict[str, kueue.Workload], now_ms: int) -> None:
    for decision in plan.admissions:
        _change(current, decision.workload, transitions.reserve, decision.admission, (), now_ms)
    for waiting in plan.waiting:
        reported = WAIT_REASONS[waiting.reason], waiting.message, now_ms
        _change(current, waiting.workload, transitions.wait, *reported)
    for victim in plan.preemptions:
        _change(current, victim.workload, transitions.preempt, victim.reason, "", now_ms)


def leaves(workload: kueue.Workload) -> bool:
    """Returns whether it is evicted and still holds quota."""
    return workload_status.holds_quota(workload.status) and workload_status.is_evicted(workload.status)


def _snapshot(objects: Objects, workloads: Mapping[str, kueue.Workload], rules: core.Rules) -> core.Snapshot:
    def queue(workload: kueue.Workload) -> str:
        key = f"{workload.metadata.namespace}/{workload.spec.queue_name}"
        return objects.local_queues[key].spec.cluster_queue if key in objects.local_queues else ""

    return snapshot.snapshot(
        objects.flavors,
        objects.cohorts,
        objects.cluster_queues,
        (core_workload.workload(w, w.status, queue(w), rules) for w in workloads.values()),
    )


def _change(current: dict[str, kueue.Workload], key: str, step: object, *arguments: object) -> None:
    assert callable(step)
    workload = current[key]
    current[key] = msgspec.structs.replace(workload, status=step(workload.status, *arguments))


def _latest(workload: kueue.Workload) -> int:
    times = (c.last_transition_time for c in workload.status.conditions)
    return max(millis(workload.metadata.creation_timestamp), *(millis(t) for t in times), 0)
