"""Jobs that CronJobs and RayCronJobs create, in virtual time; invariants are checked after every write."""

from typing import Any

import pytest

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.meta import Object
from tests.simulation.api import Body
from tests.simulation.invariants import condition
from tests.simulation.job_controller import is_ended
from tests.simulation.manifests import batch_job, local_stack, ray_job
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)


def schedule(version: str, name: str, plural: str) -> Kind[Any]:
    group, _, version = version.partition("/")
    return Kind(group, version, name, plural, Object, namespaced=True)


CRON_JOBS = schedule("batch/v1", "CronJob", "cronjobs")
RAY_CRON_JOBS = schedule("ray.io/v1", "RayCronJob", "raycronjobs")


def submit(sim: Simulation, kind: Kind[Any], job: Body) -> str:
    """Creates the job as the controller of a new schedule does; returns its key."""
    owner = sim.api.create(kind, {"metadata": {"name": "nightly", "namespace": "team-a"}}, "user")
    reference = {"apiVersion": kind.api_version, "kind": kind.name, "name": "nightly", "controller": True}
    job["metadata"]["ownerReferences"] = [reference | {"uid": owner["metadata"]["uid"]}]
    return sim.submit(job)


def waits(sim: Simulation, job: str) -> bool:
    workload = sim.workload(job, kinds.BATCH_JOBS)
    return bool(condition(workload, "QuotaReserved").get("status") == "False")


@pytest.mark.parametrize("seed", SEEDS)
def test_scheduled_jobs_wait_for_each_other(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        first = submit(sim, RAY_CRON_JOBS, ray_job("nightly-1"))
        await sim.until(lambda: sim.state(first) == "Running", "the first job runs")
        second = submit(sim, CRON_JOBS, batch_job("nightly-2"))
        await sim.until(lambda: waits(sim, second), "it waits")
        assert sim.api.get(kinds.BATCH_JOBS, second)["spec"]["suspend"]
        await sim.until(lambda: sim.state(first) == "Complete", "the first job completes")
        await sim.until(lambda: is_ended(sim.api.get(kinds.BATCH_JOBS, second)), "the second job completes")
        await sim.until(lambda: sim.has(second, "Finished", kinds.BATCH_JOBS), "its Workload is finished")

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_production_preempts_a_scheduled_job(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        nightly = submit(sim, RAY_CRON_JOBS, ray_job("nightly-1", seconds=60))
        await sim.until(lambda: sim.state(nightly) == "Running", "the scheduled job runs")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs")
        assert sim.state(nightly) == "Suspended"
        await sim.until(lambda: sim.state(nightly) == "Complete", "the scheduled job runs again")

    Simulation(seed, local_stack()).run(story)
