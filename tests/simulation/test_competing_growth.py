"""Gangs that Ray's autoscaler scales, and that compete for quota: with each other, and with waiting gangs."""

from typing import Any

import pytest

from muster.kube import kinds
from tests.simulation.api import Body
from tests.simulation.elastic_gangs import elastic, granted, platform, workers
from tests.simulation.manifests import PREEMPTION, cluster_queue, quotas, ray_job, stack, template
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)
TEAMS = ("team-a", "team-b")
THREE_TEAMS = (*TEAMS, "team-c")
GPUS_OF_TEAM = 10


def cohort(*teams: str) -> dict[Any, list[Body]]:
    """Returns queues of one cohort, each with GPUs for a part of its growers' work."""
    flavors = (
        quotas("cpu", cpu=64, memory="256Gi", gpu=0),
        quotas("l4", cpu=64, memory="256Gi", gpu=GPUS_OF_TEAM),
    )
    return stack(*(cluster_queue(team, *flavors, preemption=PREEMPTION) for team in teams))


def growers(sim: Simulation, team: str) -> list[str]:
    return [
        sim.submit(elastic(f"{team}-{n}", least=1, asks=1, namespace=team, seconds=6000)) for n in range(5)
    ]


def total(sim: Simulation, jobs: list[str]) -> int:
    return sum(workers(sim, job) for job in jobs)


@pytest.mark.parametrize("seed", SEEDS)
def test_ten_growers_of_two_queues_reach_their_shares_within_a_minute(seed: int) -> None:
    """The first team has borrowed everything, and returns it after its notice of 30 s."""

    async def story(sim: Simulation) -> None:
        first = growers(sim, "team-a")
        sim.autoscaler.demand |= {f"team-a-{n}/gpu": 8 for n in range(5)}
        await sim.until(lambda: total(sim, first) == 2 * GPUS_OF_TEAM, "the first team has borrowed", 3)
        second = growers(sim, "team-b")
        await sim.until(lambda: all(workers(sim, job) for job in second), "the second team runs", 3)
        sim.autoscaler.demand |= {f"team-b-{n}/gpu": 8 for n in range(5)}
        await sim.until(
            lambda: total(sim, first) == total(sim, second) == GPUS_OF_TEAM,
            "both have their quota",
            1,
            lambda: f"{total(sim, first)} and {total(sim, second)}",
        )
        assert all(workers(sim, job) >= 1 for job in first)
        await sim.stays(lambda: total(sim, first) == total(sim, second) == GPUS_OF_TEAM, "it is stable", 3)

    Simulation(seed, cohort(*TEAMS)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_several_queues_reclaim_their_quota_after_one_notice(seed: int) -> None:
    """The replicas of both queues preempt different surplus, at once."""

    async def story(sim: Simulation) -> None:
        first, *others = THREE_TEAMS
        borrower = growers(sim, first)
        sim.autoscaler.demand |= {f"{first}-{n}/gpu": 8 for n in range(5)}
        await sim.until(lambda: total(sim, borrower) == 3 * GPUS_OF_TEAM, "the first has borrowed", 3)
        jobs = [growers(sim, team) for team in others]
        await sim.until(lambda: all(workers(sim, job) for each in jobs for job in each), "all run", 6)
        sim.autoscaler.demand |= {f"{team}-{n}/gpu": 8 for team in others for n in range(5)}
        await sim.until(
            lambda: all(total(sim, each) == GPUS_OF_TEAM for each in (borrower, *jobs)),
            "all have their quota",
            1,
            lambda: [total(sim, each) for each in (borrower, *jobs)],
        )

    Simulation(seed, cohort(*THREE_TEAMS)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_second_group_with_free_quota_is_used_within_seconds(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        body = elastic("dev", least=1, asks=1)
        groups = body["spec"]["rayClusterSpec"]["workerGroupSpecs"]
        cpus = {**groups[0], "groupName": "cpu", "template": template("worker", cpu=2, memory="4Gi")}
        groups.append({**cpus, "minReplicas": 0, "replicas": 0})
        job = sim.submit(body)
        await sim.until(lambda: workers(sim, job) == 1, "it runs")
        sim.autoscaler.demand["dev/gpu"] = 8
        await sim.until(lambda: workers(sim, job) == 6, "all GPUs are used", 2)
        sim.autoscaler.demand["dev/cpu"] = 4
        await sim.until(lambda: running(sim, job, "cpu") == 4, "the CPU workers run", 20 / 60)

    Simulation(seed, platform()).run(story)


def running(sim: Simulation, job: str, group: str) -> int:
    return sum(
        pod["metadata"]["labels"].get("ray.io/group") == group and pod["status"]["phase"] == "Running"
        for pod in sim.pods_of(job)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_waiting_gang_is_admitted_within_five_seconds_of_the_last_idle_worker(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(elastic("dev", asks=6))
        await sim.until(lambda: workers(sim, dev) == 6, "dev has all of the quota", 2)
        other = sim.submit(ray_job("other", workers=4, priority="", seconds=30))
        await sim.until(lambda: bool(sim.waits(other)), "the other waits")
        sim.autoscaler.demand["dev/gpu"] = 0
        await sim.until(lambda: workers(sim, dev) == 2, "the idle workers have ended", 1)
        await sim.until(lambda: sim.has(other, "Admitted"), "the other is admitted", 5 / 60)
        assert granted(sim, dev) == 2

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_waiting_minimum_goes_before_growth_of_its_priority(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        first = sim.submit(elastic("first", least=2, asks=2))
        await sim.until(lambda: workers(sim, first) == 2, "the first runs")
        blocker = sim.submit(ray_job("blocker", workers=4, seconds=60))
        await sim.until(lambda: sim.has(blocker, "Admitted"), "the quota is used up")
        sim.autoscaler.demand["first/gpu"] = 8
        second = sim.submit(elastic("second", least=3, asks=3))
        await sim.until(lambda: workers(sim, second) == 3, "the second has its minimum", 3)
        await sim.until(lambda: workers(sim, first) + workers(sim, second) == 6, "the remainder is used", 2)
        evictions = sim.history(kinds.WORKLOADS, lambda w: w["metadata"]["name"] if _evicted(w) else "")
        assert not any(evictions)

    Simulation(seed, platform()).run(story)


def _evicted(workload: Body) -> bool:
    conditions = workload.get("status", {}).get("conditions", [])
    return any(c["type"] == "Evicted" and c["status"] == "True" for c in conditions)
