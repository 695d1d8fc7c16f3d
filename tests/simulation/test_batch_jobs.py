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


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shrunk_job_gives_its_quota_back(seed: int) -> None:
    """The queue has quota for four pods. The second job starts once two pods of the first have ended."""

    async def story(sim: Simulation) -> None:
        first = sim.submit(batch_job("first", seconds=600))
        await sim.until(lambda: ready(sim, first) == 4, "the first job runs")
        second = sim.submit(batch_job("second", pods=2))
        await sim.stays(lambda: ready(sim, second) == 0, "the second job waits", minutes=1)
        sim.patch(JOB, first, {"spec": {"parallelism": 2}})
        await sim.until(lambda: ready(sim, second) == 2, "both run")
        assert ready(sim, first) == 2
        workload = sim.workload(first, JOB)
        assert workload is not None
        assert workload["status"]["reclaimablePods"] == [{"name": "main", "count": 2}]

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shrunk_job_that_is_preempted_starts_again_at_its_new_size(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(batch_job("dev", seconds=60))
        await sim.until(lambda: ready(sim, dev) == 4, "dev runs")
        sim.patch(JOB, dev, {"spec": {"parallelism": 2}})
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs")
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes")
        await sim.until(lambda: ready(sim, dev) == 2, "dev runs with two pods")
        workload = sim.workload(dev, JOB)
        assert workload is not None
        assert [pods["count"] for pods in workload["spec"]["podSets"]] == [2]
        assert not workload["status"].get("reclaimablePods")

    Simulation(seed, local_stack()).run(story)
