"""Watches that fall silent without ending, and clocks that are set."""

import asyncio

import pytest

from muster.kube import kinds
from muster.kube.reflector import SILENT_S_MAX
from tests.simulation.invariants import condition
from tests.simulation.kube import Faults
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

NOTICED_MINUTES_MAX = 1.0
HOUR_S = 3600.0


@pytest.mark.parametrize("seed", seeds(*range(4)))
def test_silent_watches_are_noticed(seed: int) -> None:
    """Silent watches, as behind a firewall that drops packets: no events and no error."""

    async def story(sim: Simulation) -> None:
        await asyncio.sleep(sim.random.uniform(1, 60))
        assert sim.kube is not None
        sim.kube.silence()
        job = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.has(job, "QuotaReserved"), "it is seen", NOTICED_MINUTES_MAX)
        await sim.until(lambda: sim.state(job) == "Complete", "it completes")

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", seeds(*range(2)))
def test_watches_that_are_silent_from_the_start(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        for number in range(3):
            job = sim.submit(ray_job(f"job-{number}"))
            await sim.until(lambda job=job: sim.state(job) == "Complete", "it completes", 15)  # type: ignore[misc]

    Simulation(seed, local_stack(), faults=Faults(silent_watch=0.2)).run(story)


def test_a_quiet_watch_is_not_a_silent_one() -> None:
    """During an hour without changes, the ages stay small and nothing is listed again."""

    async def story(sim: Simulation) -> None:
        await asyncio.sleep(10)
        assert sim.kube is not None
        lists = sim.kube.lists
        for _ in range(60):
            await asyncio.sleep(60)
            assert max(sim.controllers["one"].current.watch_ages_s().values()) < SILENT_S_MAX
        assert sim.kube.lists == lists

    Simulation(1, local_stack()).run(story)


@pytest.mark.parametrize("jumps_s", [(-HOUR_S,), (HOUR_S,), (-HOUR_S, HOUR_S, -HOUR_S)], ids=str)
def test_jobs_go_on_when_the_wall_clock_is_set(jumps_s: tuple[float, ...]) -> None:
    """Jobs run, and the statuses of their queues are updated."""

    async def story(sim: Simulation) -> None:
        for number, jump_s in enumerate(jumps_s):
            dev = sim.submit(ray_job(f"dev-{number}", seconds=3))
            await sim.until(lambda dev=dev: sim.has(dev, "Admitted"), "admitted")  # type: ignore[misc]
            await sim.until(lambda: reserving(sim) == 1, "the queue's status is updated", 0.2)
            sim.set_clock(jump_s)
            sim.api.delete(kinds.RAY_JOBS, dev, "user")
            await sim.until(lambda: not sim.reserved(), "its quota is released", 2)
            await sim.until(lambda: reserving(sim) == 0, "the queue's status is updated again", 0.2)
            waiting = [sim.submit(ray_job(f"{name}-{number}", seconds=1)) for name in ("one", "two")]
            for job in waiting:
                await sim.until(lambda job=job: sim.state(job) == "Complete", "it completes", 3)  # type: ignore[misc]

    Simulation(1, local_stack()).run(story)


def reserving(sim: Simulation) -> int:
    (queue,) = (q for q in sim.api.all(kinds.CLUSTER_QUEUES) if q["metadata"]["name"] == "team-a")
    assert condition(queue, "Active").get("status") == "True"
    return int(queue["status"]["reservingWorkloads"])
