"""Stops, resumptions and retries that users request by annotations of their jobs, in virtual time."""

import asyncio
import json
from itertools import pairwise

import pytest

from muster.kube import kinds
from muster.objects.names import RETRY_ANNOTATION, STOP_ANNOTATION, WAIT_ANNOTATION
from tests.simulation.api import Body
from tests.simulation.invariants import condition
from tests.simulation.manifests import annotated, local_stack, ray_job
from tests.simulation.simulation import Simulation
from tests.simulation.waiting_clusters import nodes_that_never_join, turned, waiting
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)


def annotate(sim: Simulation, key: str, name: str, value: str | None) -> None:
    sim.patch(kinds.RAY_JOBS, key, {"metadata": {"annotations": {name: value}}})


def set_active(sim: Simulation, key: str, active: bool) -> None:
    """Acts as an administrator does."""
    sim.patch(kinds.WORKLOADS, workload_key(sim, key), {"spec": {"active": active}})


def workload_key(sim: Simulation, key: str) -> str:
    return f"team-a/{workload(sim, key)['metadata']['name']}"


def workload(sim: Simulation, key: str) -> Body:
    workload_body = sim.workload(key)
    assert workload_body is not None
    return workload_body


def retries(sim: Simulation) -> list[int]:
    """Returns the times of the events `Retried`, in milliseconds."""
    events = (change for change in sim.api.journal[kinds.EVENTS] if change.type == "ADDED")
    return [change.time_ms for change in events if change.body["reason"] == "Retried"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stopped_job_gives_back_its_quota_and_resumes(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=60))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        annotate(sim, dev, STOP_ANNOTATION, "true")
        other = sim.submit(ray_job("other"))
        await sim.until(lambda: sim.state(other) == "Complete", "the other has its quota")
        assert (sim.state(dev), sim.pods_of(dev)) == ("Suspended", [])
        assert condition(sim.workload(dev), "Evicted")["reason"] == "JobStopped"
        assert sim.waits(dev).startswith("Suspended: the job is stopped by its annotation muster.dev/stop")
        await sim.until(
            lambda: WAIT_ANNOTATION in sim.job(dev)["metadata"]["annotations"], "the job has the annotation"
        )
        assert json.loads(sim.job(dev)["metadata"]["annotations"][WAIT_ANNOTATION])["reason"] == "Suspended"
        annotate(sim, dev, STOP_ANNOTATION, None)
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        assert turned(sim, "Requeued", "JobRestarted")

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_that_was_stopped_before_its_start_waits(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(annotated(ray_job("dev"), stop="true"))
        await sim.until(lambda: sim.waits(dev).startswith("Suspended"), "it is stopped")
        await sim.stays(lambda: not sim.reserved(), "it has no quota", 2)
        annotate(sim, dev, STOP_ANNOTATION, "false")
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")

    Simulation(seed, local_stack()).run(story)


def test_an_administrators_deactivation_wins_over_a_resumption() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=60))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        annotate(sim, dev, STOP_ANNOTATION, "true")
        await sim.until(lambda: not sim.reserved(), "its quota is free")
        set_active(sim, dev, False)
        annotate(sim, dev, STOP_ANNOTATION, None)
        annotate(sim, dev, RETRY_ANNOTATION, "now")
        await sim.until(lambda: "deactivated" in sim.waits(dev), "it is deactivated")
        await sim.stays(lambda: not sim.reserved() and not retries(sim), "it has no quota", 10)
        set_active(sim, dev, True)
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")

    Simulation(1, local_stack()).run(story)


def test_a_retry_ends_the_back_off_once() -> None:
    async def story(sim: Simulation) -> None:
        async with nodes_that_never_join(sim):
            dev = sim.submit(ray_job("dev"))
            await sim.until(lambda: bool(turned(sim, "Evicted", "PodsReadyTimeout")), "it is evicted", 10)
            await sim.until(lambda: not sim.reserved(), "its quota is free")
            annotate(sim, dev, RETRY_ANNOTATION, "1")
            await sim.until(lambda: bool(sim.reserved()), "it is tried again", 0.5)
            await sim.until(lambda: len(turned(sim, "Evicted", "PodsReadyTimeout")) == 2, "and evicted", 10)
            await sim.until(lambda: not sim.reserved(), "its quota is free")
            await sim.stays(lambda: not sim.reserved(), "the second back-off of 120 s lasts", 1.5)
            assert len(retries(sim)) == 1
        await sim.until(lambda: sim.state(dev) == "Complete", "it completes", 10)

    Simulation(1, local_stack(), configuration=waiting()).run(story)


def test_a_retry_activates_a_job_that_was_late_too_often() -> None:
    async def story(sim: Simulation) -> None:
        async with nodes_that_never_join(sim):
            dev = sim.submit(ray_job("dev"))
            await sim.until(lambda: sim.waits(dev).startswith("Suspended"), "it is out of the queue", 60)
        assert "set the job's annotation muster.dev/retry to a new value" in sim.waits(dev)
        annotate(sim, dev, RETRY_ANNOTATION, "1")
        await sim.until(lambda: sim.state(dev) == "Complete", "it completes")
        assert workload(sim, dev)["spec"]["active"]

    Simulation(2, local_stack(), configuration=waiting(retries_max=1)).run(story)


def test_a_deactivation_after_a_retry_wins_over_the_next_one() -> None:
    """The condition Evicted still has the reason of the first deactivation."""

    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=3000))
        async with nodes_that_never_join(sim):
            await sim.until(lambda: sim.waits(first).startswith("Suspended"), "it is out of the queue", 60)
        other = sim.submit(ray_job("other", seconds=3000))
        await sim.until(lambda: sim.state(other) == "Running", "the other runs")
        annotate(sim, first, RETRY_ANNOTATION, "1")
        await sim.until(lambda: sim.waits(first).startswith("WaitingForQuota"), "it is queued")
        set_active(sim, first, False)
        await sim.until(lambda: sim.waits(first).startswith("Suspended"), "it is deactivated")
        annotate(sim, first, RETRY_ANNOTATION, "2")
        await sim.stays(lambda: len(retries(sim)) == 1, "it is not retried", 10)
        assert not workload(sim, first)["spec"]["active"]

    Simulation(3, local_stack(), configuration=waiting(retries_max=1)).run(story)


@pytest.mark.thorough
@pytest.mark.parametrize("retries_max", [1, None], ids=["deactivated each time", "never deactivated"])
def test_retries_in_a_loop_come_no_faster_than_the_back_off(retries_max: int | None) -> None:
    async def story(sim: Simulation) -> None:
        async with nodes_that_never_join(sim):
            dev = sim.submit(ray_job("dev"))
            end_ms = sim.api.now_ms() + 2 * 3600_000
            while sim.api.now_ms() < end_ms:
                annotate(sim, dev, RETRY_ANNOTATION, str(sim.api.now_ms()))
                await asyncio.sleep(5)
        times = retries(sim)
        waits_s = [(later - earlier) / 1000 for earlier, later in pairwise(times)]
        assert len(times) > 3
        assert all(waited_s >= min(60 * 2**number, 600) - 1 for number, waited_s in enumerate(waits_s)), (
            waits_s
        )

    Simulation(4, local_stack(), configuration=waiting(retries_max=retries_max)).run(story)


def test_a_stopped_job_is_not_retried() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=60))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        annotate(sim, dev, STOP_ANNOTATION, "true")
        annotate(sim, dev, RETRY_ANNOTATION, "1")
        await sim.until(lambda: not sim.reserved(), "its quota is free")
        await sim.stays(lambda: not sim.reserved() and not retries(sim), "it has no quota")

    Simulation(5, local_stack()).run(story)
