"""Workloads that are created without a job, or lose it, with the real controller."""

import pytest

from muster.kube import kinds
from tests.simulation.api import Body, key_of
from tests.simulation.invariants import condition, holds_quota
from tests.simulation.manifests import local_stack, ray_job, workload
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

BATCH = "team-a/batch"
SEEDS = pytest.mark.parametrize("seed", seeds(1, 2, 3))


def has(sim: Simulation, kind: str) -> bool:
    return condition(sim.api.get(kinds.WORKLOADS, BATCH), kind).get("status") == "True"


@SEEDS
@pytest.mark.parametrize("check", [False, True])
def test_it_is_preempted_admitted_again_finished_and_kept(seed: int, check: bool) -> None:
    async def story(sim: Simulation) -> None:
        sim.api.create(kinds.WORKLOADS, workload("batch", pods=4, seconds=60), "user")
        await sim.until(lambda: has(sim, "Admitted"), "it is admitted")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Running", "its quota is used by prod")
        await sim.until(lambda: has(sim, "Finished"), "it is admitted again, and finishes")
        await sim.stays(lambda: has(sim, "Finished"), "it is kept")
        assert sim.requests() == []

    sim = Simulation(seed, local_stack(check=check))
    sim.run(story)
    reserved = sim.history(kinds.WORKLOADS, lambda w: key_of(w) == BATCH and holds_quota(w))
    assert reserved.count(True) >= 2


@SEEDS
def test_quota_of_an_evicted_one_waits_for_its_creator(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        sim.creators.halted = True
        sim.api.create(kinds.WORKLOADS, workload("batch", pods=4), "user")
        await sim.until(lambda: has(sim, "Admitted"), "it is admitted")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: has(sim, "Evicted"), "it is evicted")
        await sim.stays(lambda: sim.reserved() == [BATCH], "it keeps its quota", 1)
        sim.creators.halted = False
        await sim.until(lambda: sim.state(prod) == "Running", "its quota is released")

    Simulation(seed, local_stack()).run(story)


@SEEDS
def test_a_job_keeps_a_workload_that_lost_the_reference_to_it(seed: int) -> None:
    """The job is preempted and admitted as before, and its Workload is deleted with it."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=60))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        (workloads,) = sim.api.all(kinds.WORKLOADS)
        patch: Body = {"metadata": {"ownerReferences": None}}
        sim.api.merge_patch(kinds.WORKLOADS, key_of(workloads), patch, "tenant", False)
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Complete", "prod runs instead")
        await sim.until(lambda: sim.state(dev) == "Complete", "dev runs again")
        await sim.until(lambda: sim.has(dev, "Finished"), "it is finished")
        sim.api.delete(kinds.RAY_JOBS, dev, "user")
        await sim.until(lambda: sim.api.find(kinds.WORKLOADS, key_of(workloads)) is None, "it is deleted")

    Simulation(seed, local_stack()).run(story)
