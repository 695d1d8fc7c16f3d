"""Workloads and jobs that have ended are deleted at the end of their retention, and not before."""

import pytest

from muster.configuration.configuration import Configuration, Retention
from muster.kube import kinds
from muster.objects.meta import millis
from tests.simulation.api import key_of
from tests.simulation.invariants import condition
from tests.simulation.manifests import local_stack, ray_job, workload
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = pytest.mark.parametrize("seed", seeds(1, 2))
LATE_MS_MAX = 3000  # passes, writes and whole seconds
KEPT_S = 600


def keeps(finished_s: int | None = None, deactivated_s: int | None = None) -> Configuration:
    return Configuration(retention=Retention(finished_s, deactivated_s))


def deleted_ms(sim: Simulation, key: str) -> int:
    """Returns the time from its end to its deletion."""
    (change,) = (c for c in sim.api.journal[kinds.WORKLOADS] if c.type == "DELETED" and key_of(c.body) == key)
    return change.time_ms - millis(condition(change.body, "Finished")["lastTransitionTime"])


@SEEDS
def test_a_finished_workload_is_deleted_and_its_job_stays(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        (workloads,) = sim.api.all(kinds.WORKLOADS)
        await sim.until(lambda: not sim.api.all(kinds.WORKLOADS), "its Workload is deleted", 15)
        assert 0 <= deleted_ms(sim, key_of(workloads)) - KEPT_S * 1000 <= LATE_MS_MAX
        await sim.stays(
            lambda: sim.state(dev) == "Complete" and not sim.api.all(kinds.WORKLOADS), "everything is deleted"
        )

    Simulation(seed, local_stack(), configuration=keeps(KEPT_S)).run(story)


@SEEDS
def test_pods_that_outlast_a_retention_count_until_they_are_gone(seed: int) -> None:
    """The Workload is deleted after their RayCluster (an invariant)."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", ttlSecondsAfterFinished=KEPT_S))
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        (workloads,) = sim.api.all(kinds.WORKLOADS)
        await sim.until(lambda: not sim.api.all(kinds.WORKLOADS), "its Workload is deleted", 15)
        assert 0 <= deleted_ms(sim, key_of(workloads)) - KEPT_S * 1000 <= 10 * LATE_MS_MAX
        assert not sim.api.all(kinds.RAY_CLUSTERS)

    Simulation(seed, local_stack(), configuration=keeps(0)).run(story)


@SEEDS
def test_workloads_are_kept_as_long_as_their_jobs_by_default(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        sim.api.create(kinds.WORKLOADS, workload("batch", namespace="team-b"), "user")
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        await sim.stays(lambda: len(sim.api.all(kinds.WORKLOADS)) == 2, "both are kept", 120)
        sim.api.delete(kinds.RAY_JOBS, dev, "user")
        await sim.until(lambda: len(sim.api.all(kinds.WORKLOADS)) == 1, "dev's is deleted")
        await sim.stays(lambda: len(sim.api.all(kinds.WORKLOADS)) == 1, "the other one is kept", 60)

    Simulation(seed, local_stack()).run(story)


@SEEDS
def test_a_job_that_its_controller_deactivated_is_deleted(seed: int) -> None:
    """A job that a user deactivated is kept."""

    async def story(sim: Simulation) -> None:
        sim.cloud.stock_outs = 10
        dev = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.api.find(kinds.RAY_JOBS, dev) is None, "dev is deleted", 20)
        sim.cloud.stock_outs = 0
        other = sim.submit(ray_job("other", seconds=3600))
        await sim.until(lambda: sim.state(other) == "Running", "another one runs")
        workload_body = sim.workload(other)
        assert workload_body is not None
        sim.patch(kinds.WORKLOADS, key_of(workload_body), {"spec": {"active": False}})
        await sim.until(lambda: sim.state(other) == "Suspended", "it is stopped")
        await sim.stays(lambda: sim.state(other) == "Suspended", "it is kept", 30)

    Simulation(seed, local_stack(), configuration=keeps(deactivated_s=60)).run(story)
