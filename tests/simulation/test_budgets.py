"""Budgets in the simulation: gangs wait, and usage is exact whatever happens to the controller."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from muster.admission import HOUR_MS
from muster.cluster import budget_usage
from muster.kube import kinds
from muster.objects.meta import millis
from muster.objects.names import RECORDED_USAGE, RESOURCE_IN_USE
from tests.simulation.api import Body, Change
from tests.simulation.elastic_gangs import elastic, granted, workers
from tests.simulation.invariants import condition
from tests.simulation.kube import Faults
from tests.simulation.kuberay_pods import is_gated
from tests.simulation.manifests import GPU, PREEMPTION, cluster_queue, quotas, ray_job, stack
from tests.simulation.simulation import Simulation
from tests.unit.controller.builders import make_cluster
from tools.testing.effort import seeds

CPU = quotas("cpu", cpu=64, memory="256Gi", gpu=0)


def budgeted(gpus: int, hours: int, **fields: Any) -> Body:
    """A queue with GPUs and a budget of their hours in a month."""
    queue = cluster_queue("team-a", CPU, quotas("l4", cpu=64, memory="256Gi", gpu=gpus))
    budget = {"resource": GPU, "hours": hours, "period": "month"} | fields
    queue["metadata"]["annotations"] = {"muster.dev/budgets": json.dumps([budget])}
    return queue


def test_gang_waits_once_the_budget_is_used() -> None:
    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=HOUR_MS))
        await sim.until(lambda: sim.state(first) == "Running", "the first one runs")
        second = sim.submit(ray_job("second", seconds=20))
        await sim.until(lambda: sim.state(second) == "Complete", "some of the budget is left")
        await sim.stays(lambda: sim.state(first) == "Running", "it uses a GPU hour", 15)
        third = sim.submit(ray_job("third", seconds=20))
        sentence = f"needs 4 {GPU}, but ClusterQueue team-a has too little left of its 1 {GPU} hours of this"
        await sim.until(lambda: sentence in sim.waits(third), "the third one waits")
        await sim.stays(lambda: sim.state(first) == "Running", "running gangs continue", 1)
        queue = sim.api.get(kinds.CLUSTER_QUEUES, "team-a")
        assert condition(queue, "BudgetUsed")["reason"] == "BudgetUsedUp"
        events = [e["reason"] for e in sim.api.all(kinds.EVENTS) if e["reason"].startswith("Budget")]
        assert events == ["BudgetNearlyUsed", "BudgetUsedUp"]

    Simulation(1, stack(budgeted(8, hours=1))).run(story)


def test_gang_over_a_soft_budget_yields_to_any_priority() -> None:
    """It borrows, is preempted once the budget is used up, and runs again when the quota is free."""

    async def story(sim: Simulation) -> None:
        over = sim.submit(ray_job("over", workers=8, priority="prod-priority", seconds=HOUR_MS))
        await sim.until(lambda: sim.state(over) == "Running", "it borrows")
        other = sim.submit(ray_job("other", namespace="team-b", seconds=600))
        await sim.stays(lambda: sim.state(over) == "Running", "its priority protects it", 7.4)
        await sim.until(lambda: sim.state(over) == "Suspending", "8 GPUs use an hour in 7.5 minutes", 0.2)
        await sim.until(lambda: sim.state(other) == "Running", "the other one runs")
        used_up = f"ClusterQueue team-a has used up its 1 {GPU} hours of this month"
        assert condition(sim.workload(over), "Preempted")["message"].endswith(
            f"due to InCohortReclamation, as {used_up}"
        )
        await sim.until(lambda: f"and takes only free quota as {used_up}" in sim.waits(over), "it waits")
        report = condition(sim.api.get(kinds.CLUSTER_QUEUES, "team-a"), "BudgetUsed")
        assert report["message"].endswith(": its workloads take only free quota")
        await sim.until(lambda: sim.state(other) == "Complete", "the other one ends", 15)
        await sim.until(lambda: sim.state(over) == "Running", "the quota is free")

    lender = cluster_queue("team-b", CPU, quotas("l4", cpu=64, memory="256Gi", gpu=4))
    lender["spec"]["preemption"] = {"reclaimWithinCohort": "LowerPriority"}
    Simulation(1, stack(budgeted(4, hours=1, enforcement="soft"), lender)).run(story)


class Recorder:
    """Adds up the seconds times GPUs of reservations, from the times that the API shows."""

    def __init__(self, sim: Simulation) -> None:
        self.gpu_s = 0
        self.releases = 0
        self._held: dict[str, tuple[int, int]] = {}  # GPUs, and the start in seconds, by UID
        self._ends: dict[str, int] = {}  # recorded by the queue
        sim.api.watchers.append(self._watch)

    def _watch(self, change: Change) -> None:
        if change.kind is kinds.CLUSTER_QUEUES:
            recorded = json.loads(change.body["metadata"]["annotations"].get(RECORDED_USAGE, "{}"))
            self._ends |= {uid: end["until"] for uid, end in recorded.get("ended", {}).items()}
        if change.kind is not kinds.WORKLOADS:
            return
        uid, reserved = change.body["metadata"]["uid"], condition(change.body, "QuotaReserved")
        since_s = millis(reserved.get("lastTransitionTime")) // 1000
        before = self._held.pop(uid, None)
        has_ended = change.type == "DELETED" or not _is_protected(change.body)
        if reserved.get("status") == "True" and not has_ended:
            self._held[uid] = _gpus(change.body), since_s
        if before is not None and self._held.get(uid) != before:
            gpus, reserved_s = before
            self.gpu_s += gpus * ((self._ends[uid] if has_ended else since_s) - reserved_s)
            self.releases += not has_ended


def _is_protected(workload: Body) -> bool:
    return RESOURCE_IN_USE in workload["metadata"].get("finalizers", [])


def _gpus(workload: Body) -> int:
    assigned = workload["status"]["admission"]["podSetAssignments"]
    return sum(int(pod_set["resourceUsage"].get(GPU, 0)) for pod_set in assigned)


ENDS: dict[str, dict[str, Any]] = {
    "the autoscaler removes them": {},
    "the controller removes them after the notice": {"autoscales": False},
    "and the gang is evicted": {"workers": 5},
}


@pytest.mark.parametrize("name", ENDS)
def test_workers_of_a_gang_that_shrinks_count_until_they_have_terminated(name: str) -> None:
    """The autoscaled gang uses the larger one of the workers that hold quota and those that exist."""
    case = {"autoscales": True, "workers": 3} | ENDS[name]

    async def story(sim: Simulation) -> None:
        used = 0.0

        async def sample_until(reached: Callable[[], bool], minutes: int) -> None:
            nonlocal used
            for _ in range(minutes * 60 * 4):
                if reached():
                    return
                await asyncio.sleep(0.25)
                used += 0.25 * sum(map(partial(_used_gpus, sim), jobs))
            raise AssertionError("it is not reached")

        dev = sim.submit(elastic("dev", asks=6, seconds=300))
        jobs = [dev]
        await sample_until(lambda: workers(sim, dev) == 6, 2)
        sim.autoscaler.running = case["autoscales"]
        jobs.append(
            sim.submit(ray_job("prod", workers=case["workers"], priority="prod-priority", seconds=30))
        )
        await sample_until(lambda: sim.state(jobs[1]) == "Running", 5)
        sim.autoscaler.running = True
        await sample_until(lambda: not any(map(partial(_used_gpus, sim), jobs)), 30)
        observed = {kind: sim.api.all(kind) for kind in (kinds.CLUSTER_QUEUES, kinds.WORKLOADS)}
        spent = budget_usage.spent(make_cluster(observed)).get("team-a", ())
        assert sum(of.unit_ms for of in spent) / 1000 == pytest.approx(used, abs=20)

    queue = budgeted(6, hours=10_000)
    queue["spec"]["preemption"] = PREEMPTION
    Simulation(1, stack(queue)).run(story)


def _used_gpus(sim: Simulation, job: str) -> int:
    """Returns the GPUs of workers that hold quota, or of those that exist if they are more."""
    workload = sim.workload(job)
    if workload is None or not _is_protected(workload):
        return 0
    pods = [pod for pod in sim.pods_of(job) if pod["metadata"]["labels"].get("ray.io/group") == "gpu"]
    return max(granted(sim, job), sum(not is_gated(pod) for pod in pods))


ROUGH = Faults(killed=0.05, lost_answer=0.02, watch_lag_s=1.0)


@pytest.mark.parametrize("seed", seeds(0, 1, 2, 3, 4, 6, 7, 9))  # with a preemption
def test_recorded_usage_is_exact_to_the_second(seed: int) -> None:
    """Gangs are preempted, finish and are deleted, while the controller is killed at random writes."""

    async def story(sim: Simulation) -> None:
        random, recorder, jobs = Random(seed), Recorder(sim), list[str]()
        for number in range(6):
            priority = random.choice(["dev-priority", "prod-priority"])
            job = ray_job(f"job-{number}", priority=priority, seconds=random.choice([5, 60, 300]))
            jobs.append(sim.submit(job))
            await asyncio.sleep(random.uniform(0.5, 60))
        sim.submit(ray_job("last", priority="prod-priority", workers=8, seconds=5))
        await asyncio.sleep(20)
        for deleted in random.sample(jobs, 3):
            sim.api.delete(kinds.RAY_JOBS, deleted, "user")
            await asyncio.sleep(random.uniform(0, 30))
        await sim.until(lambda: not any(map(_is_protected, sim.api.all(kinds.WORKLOADS))), "all end", 60)
        observed = {kind: sim.api.all(kind) for kind in (kinds.CLUSTER_QUEUES, kinds.WORKLOADS)}
        spent = budget_usage.spent(make_cluster(observed)).get("team-a", ())
        assert recorder.gpu_s > 0
        assert recorder.releases > 0
        assert sum(recorded.unit_ms for recorded in spent) == recorder.gpu_s * 1000

    queue = budgeted(8, hours=10_000)
    queue["spec"]["preemption"] = {"withinClusterQueue": "LowerPriority"}
    Simulation(seed, stack(queue), faults=ROUGH).run(story)
