"""Jobs beside RayJobs, in virtual time; invariants are checked after every write."""

import pytest

from muster.kube import kinds
from tests.simulation.api import Body
from tests.simulation.invariants import condition
from tests.simulation.job_controller import is_ended
from tests.simulation.manifests import batch_job, local_stack, ray_job
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)
JOB = kinds.BATCH_JOBS


def ready(sim: Simulation, key: str) -> int:
    return int(sim.api.get(JOB, key).get("status", {}).get("ready", 0))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ray_job_preempts_a_job_which_starts_again(seed: int) -> None:
    """The first start leaves a start time, which the second start resets before it places the pods again."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(batch_job("dev", seconds=60))
        await sim.until(lambda: ready(sim, dev) == 4, "dev runs")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs")
        assert ready(sim, dev) == 0
        assert "of priority 1000" in condition(sim.workload(dev, JOB), "Preempted")["message"]
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes")
        await sim.until(lambda: is_ended(sim.api.get(JOB, dev)), "dev completes")
        await sim.until(lambda: sim.has(dev, "Finished", JOB), "its Workload is finished")
        await sim.until(lambda: not sim.requests() and not sim.reserved(), "all capacity is released")

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_preempts_a_ray_job(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=60))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        prod = sim.submit(batch_job("prod", priority="prod-priority"))
        await sim.until(lambda: ready(sim, prod) == 4, "prod runs")
        assert sim.state(dev) == "Suspended"
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        assert sim.has(prod, "Finished", JOB)

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_that_its_user_suspends_is_started_again(seed: int) -> None:
    """Its start time is reset although it keeps its quota."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(batch_job("dev", seconds=30))
        await sim.until(lambda: ready(sim, dev) == 4, "dev runs")
        sim.patch(JOB, dev, {"spec": {"suspend": True}})
        await sim.until(lambda: is_ended(sim.api.get(JOB, dev)), "dev completes")

    Simulation(seed, local_stack(check=False)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_submitters_get_no_workload(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.api.find(JOB, dev) is not None, "KubeRay creates the submitter")
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        created: list[Body] = [c.body for c in sim.api.journal[kinds.WORKLOADS] if c.type == "ADDED"]
        assert len(created) == 1

    Simulation(seed, local_stack()).run(story)
