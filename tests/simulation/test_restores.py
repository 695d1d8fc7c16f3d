"""etcd is restored from an older copy while the controller runs, whose stores hold objects that are lost."""

import asyncio

import pytest

from muster.kube import kinds
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.replicas import Replicas
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

LISTED_AGAIN_MINUTES_MAX = 0.2


async def restored(sim: Simulation) -> str:
    """Returns a job that runs before the copy, and after etcd is restored from it. In between, production
    preempts it, and a dozen jobs are submitted."""
    dev = sim.submit(ray_job("dev", seconds=300))
    await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
    sim.copy_etcd()
    jobs = [sim.submit(ray_job(f"prod-{n}", priority="prod-priority", seconds=600)) for n in range(12)]
    await sim.until(lambda: any(sim.state(job) == "Running" for job in jobs), "production runs")
    await sim.until(lambda: sim.state(dev) == "Suspended", "dev is preempted")
    await asyncio.sleep(sim.random.uniform(0, 60))
    sim.restore_etcd()
    assert sim.state(dev) == "Running"
    assert [job["metadata"]["name"] for job in sim.api.all(kinds.RAY_JOBS)] == ["dev"]
    return dev


@pytest.mark.parametrize("seed", seeds(*range(6)))
@pytest.mark.parametrize("cluster", [Simulation, Replicas], ids=("one replica", "two replicas"))
def test_gangs_that_vanish_neither_hold_quota_nor_end_others(cluster: type[Simulation], seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = await restored(sim)
        uid = sim.job(dev)["metadata"]["uid"]
        workload = sim.workload(dev)
        prod = sim.submit(ray_job("prod", priority="prod-priority", seconds=5))
        await sim.until(
            lambda: sim.has(prod, "QuotaReserved") or sim.state(dev) == "Suspending",
            "production preempts dev",
            LISTED_AGAIN_MINUTES_MAX,
            lambda: sim.waits(prod),
        )
        await sim.until(lambda: sim.state(prod) == "Complete", "production completes", 5)
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes", 10)
        assert sim.job(dev)["metadata"]["uid"] == uid
        deleted = [c for c in sim.api.journal[kinds.WORKLOADS] if c.type == "DELETED"]
        assert workload is not None
        assert workload["metadata"]["uid"] not in {c.body["metadata"]["uid"] for c in deleted}

    cluster(seed, local_stack()).run(story)
