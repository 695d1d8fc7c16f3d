"""Quota belongs to whoever was granted it, whatever tenants and administrators do, and pods that linger."""

from typing import Any

import pytest

from muster.controller.templates import WORKLOAD_UID_LABEL
from muster.kube import kinds
from tests.simulation.api import Body, Change
from tests.simulation.invariants import Broken, condition
from tests.simulation.kube import Faults
from tests.simulation.manifests import cluster_queue, local_stack, quotas, ray_job, stack
from tests.simulation.simulation import Simulation

SEEDS = (1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pod_of_another_team_does_not_keep_a_victims_quota_held(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=600))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        workload = sim.workload(dev)
        assert workload is not None
        labels = {WORKLOAD_UID_LABEL: workload["metadata"]["uid"]}
        pod = {"metadata": {"name": "squatter", "namespace": "team-b", "labels": labels}}
        sim.api.create(kinds.PODS, {**pod, "spec": {}, "status": {"phase": "Running"}}, "team-b")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Running", "prod has dev's quota", 2)

    Simulation(seed, local_stack(check=False)).run(story)


CPU = quotas("cpu", cpu=64, memory="256Gi", gpu=0)
RECLAIMS = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}


def gpus(nominal: object, name: str = "team-a", **spec: Any) -> Body:
    """A ClusterQueue in cohort ml."""
    return cluster_queue(name, CPU, quotas("l4", cpu=64, memory="256Gi", gpu=nominal), **spec)


def live_gpus(sim: Simulation) -> int:
    pods = (p for p in sim.api.all(kinds.PODS) if p["status"]["phase"] not in ("Succeeded", "Failed"))
    return sum("nvidia.com/gpu" in str(p["spec"]) for p in pods)


def used_gpus(sim: Simulation, queue: str = "team-a") -> str:
    """As the ClusterQueue's status tells it."""
    status = sim.api.get(kinds.CLUSTER_QUEUES, queue).get("status", {})
    totals = {
        (f["name"], r["name"]): str(r["total"])
        for f in status.get("flavorsReservation", [])
        for r in f["resources"]
    }
    return totals.get(("l4", "nvidia.com/gpu"), "0")


def watch_gpus(sim: Simulation, most: int) -> None:
    """From now on the simulation breaks where more of them are in use."""

    def check(change: Change) -> None:
        if change.kind is kinds.PODS and live_gpus(sim) > most:
            raise Broken(f"{live_gpus(sim)} GPUs are in use, on a quota of {most}")

    sim.api.watchers.append(check)


ROUGH = Faults(killed=0.03, lost_answer=0.02, watch_lag_s=1.0)
NOBODY_PREEMPTS: dict[str, Any] = {}
DAY_S = 86_400


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("preemption", [NOBODY_PREEMPTS, RECLAIMS])
def test_pods_that_a_finished_job_leaves_count_until_somebody_needs_their_quota(
    seed: int, preemption: dict[str, Any]
) -> None:
    """KubeRay keeps them for ttlSecondsAfterFinished; the user sees the end at once."""

    async def story(sim: Simulation) -> None:
        watch_gpus(sim, 4)
        first = sim.submit(
            ray_job("first", priority="prod-priority", seconds=5, ttlSecondsAfterFinished=DAY_S)
        )
        await sim.until(lambda: sim.has(first, "Finished"), "it is told to be finished")
        await sim.until(lambda: used_gpus(sim) == "4", "its pods count")
        await sim.stays(lambda: (live_gpus(sim), used_gpus(sim)) == (4, "4"), "they stay, and count", 2)
        second = sim.submit(ray_job("second", seconds=5))
        await sim.until(lambda: sim.state(second) == "Complete", "the second has its turn")
        assert not condition(sim.workload(first), "Evicted")
        await sim.until(lambda: used_gpus(sim) == "0", "all is given back")

    queue = gpus({"nominalQuota": "4", "borrowingLimit": "0"}, preemption=preemption)
    Simulation(seed, stack(queue), faults=ROUGH).run(story)


def test_a_finished_gang_goes_before_any_that_runs() -> None:
    async def story(sim: Simulation) -> None:
        watch_gpus(sim, 8)
        ends = sim.submit(ray_job("ends", priority="prod-priority", seconds=5, ttlSecondsAfterFinished=DAY_S))
        runs = sim.submit(ray_job("runs", seconds=600))
        await sim.until(lambda: sim.has(ends, "Finished") and sim.state(runs) == "Running", "one of two ends")
        prod = sim.submit(ray_job("prod", priority="prod-priority", seconds=5))
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes")
        assert not condition(sim.workload(runs), "Preempted")

    Simulation(1, stack(gpus(8, preemption=RECLAIMS))).run(story)


def test_pods_that_nobody_needs_stay_as_long_as_their_user_wants() -> None:
    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=5, ttlSecondsAfterFinished=120))
        await sim.until(lambda: sim.has(first, "Finished"), "it is finished")
        second = sim.submit(ray_job("second", seconds=5))
        await sim.until(lambda: sim.state(second) == "Complete", "there is quota for both")
        await sim.until(lambda: live_gpus(sim) == 4, "the pods of the second go at once")
        await sim.until(lambda: live_gpus(sim) == 0 and used_gpus(sim) == "0", "then they go", 4)

    Simulation(1, stack(gpus(8))).run(story)


def preempted(sim: Simulation, key: str) -> bool:
    return bool(condition(sim.workload(key), "Preempted"))


def priorities(sim: Simulation, *keys: str) -> set[int]:
    return {int((sim.workload(key) or {"spec": {"priority": -1}})["spec"]["priority"]) for key in keys}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("value", [10, 1500])
def test_a_changed_class_changes_all_of_the_class_at_once(seed: int, value: int) -> None:
    """Whoever waits and whoever runs: nobody of a class preempts another one of it."""

    async def story(sim: Simulation) -> None:
        running = sim.submit(ray_job("running", seconds=1000))
        await sim.until(lambda: sim.state(running) == "Running", "one runs")
        waiting = [sim.submit(ray_job(f"waiting{n}")) for n in range(3)]
        await sim.until(lambda: all(map(sim.waits, waiting)), "the others wait")
        sim.api.merge_patch(kinds.PRIORITIES, "dev-priority", {"value": value}, "administrator", False)
        later = sim.submit(ray_job("later"))
        everybody = (running, *waiting, later)
        await sim.until(lambda: priorities(sim, *everybody) == {value}, "all are told")
        assert condition(sim.workload(running), "Admitted").get("status") == "True"
        await sim.stays(lambda: not preempted(sim, running), "it runs on", 1)
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        if value < 1000:
            await sim.until(lambda: preempted(sim, running), "a higher class goes first")
        else:
            await sim.stays(lambda: not preempted(sim, running), "a lower class waits", 1)
        assert sim.waits(prod) or value < 1000

    Simulation(seed, stack(gpus(4, preemption=RECLAIMS)), faults=ROUGH).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_class_named_default_is_that_of_jobs_without_a_label(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        running = sim.submit(ray_job("running", priority="", seconds=1000))
        await sim.until(lambda: sim.state(running) == "Running", "one runs")
        waiting = sim.submit(ray_job("waiting", priority=""))
        await sim.until(lambda: bool(sim.waits(waiting)), "one waits")
        assert priorities(sim, running, waiting) == {0}
        default = {"metadata": {"name": "default"}, "value": 500}
        sim.api.create(kinds.PRIORITIES, default, "administrator")
        later = sim.submit(ray_job("later", priority=""))
        await sim.until(lambda: priorities(sim, running, waiting, later) == {500}, "all have it")
        dev = sim.submit(ray_job("dev"))
        await sim.stays(lambda: not preempted(sim, running), "nobody is ahead of it", 1)
        assert priorities(sim, dev) == {100}
        assert (sim.workload(later) or {})["spec"]["priorityClassRef"]["name"] == "default"

    Simulation(seed, stack(gpus(4, preemption=RECLAIMS)), faults=ROUGH).run(story)
