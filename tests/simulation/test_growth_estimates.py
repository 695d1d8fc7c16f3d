"""Estimates of growth come true in histories that nothing disturbs."""

import asyncio
from dataclasses import replace
from random import Random

import pytest

from muster.configuration.configuration import Configuration
from muster.forecast.assumptions import Assumptions
from muster.forecast.growth_estimates import GrowthEstimate, estimates
from muster.kube import kinds
from muster.live.eta.growth_range import GrowthRange, annotation, growth_ranges
from muster.live.eta.start_range import StartRange
from muster.live.observed import observed
from muster.live.state import live_state
from muster.live.submitted import submitted
from muster.objects.meta import rfc3339
from muster.objects.names import GROWTH_ETA_ANNOTATION, MAX_EXEC_TIME_LABEL, WAIT_ANNOTATION
from tests.simulation.api import Body
from tests.simulation.elastic_gangs import elastic, granted, platform, workers
from tests.simulation.invariants import condition
from tests.simulation.manifests import ray_job
from tests.simulation.queued_growth import MINIMUM, QUOTA, queued, starts
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SLACK_S = 20  # of a declared run time, for KubeRay, the pods and the submitter
PASSES_S = 15  # until the controller and the autoscaler have reacted
ASSUMED = Assumptions(limit_share=1, start_up_s=0, termination_s=0, cleanup_s=0)


def limited(name: str, workers: int, seconds: int) -> Body:
    """A job of a fixed size with a declared run time."""
    return declared(ray_job(name, workers=workers, seconds=seconds), seconds)


def declared(job: Body, seconds: int) -> Body:
    job["metadata"]["labels"][MAX_EXEC_TIME_LABEL] = str(seconds + SLACK_S)
    return job


def scaled(**sizes: int) -> Body:
    """An autoscaled job that runs longer than all others."""
    return declared(elastic("dev", seconds=10_000, **sizes), 10_000)


async def estimated(
    sim: Simulation, of: str, job: Body | None = None, assumed: Assumptions = ASSUMED
) -> GrowthEstimate:
    """Returns the estimate for a job, which may be tried before it is submitted."""
    assert sim.kube is not None
    cluster, now_ms = (await observed(sim.kube)).cluster, sim.wall_clock_ms()
    if job is not None:
        cluster = submitted({"apiVersion": "ray.io/v1", "kind": "RayJob", **job}, cluster, now_ms).cluster
    state = live_state(cluster, Configuration(), now_ms)
    (key,) = (key for key in state.workloads if key.startswith(f"team-a/rayjob-{of}-"))
    starting = [key] if job is not None else []
    (growth,) = estimates(state, starting, [key], assumed, [0]).growth[key]
    return growth


async def comes_true(sim: Simulation, job: str, growth: GrowthEstimate) -> None:
    """Waits until the group has grown, and compares the time."""
    (at_ms,) = growth.time.starts_ms
    assert at_ms is not None
    before = growth.granted
    await sim.until(lambda: granted(sim, job) > before, "it grows", 15)
    late_s = (sim.wall_clock_ms() - at_ms) / 1000
    assert -SLACK_S - PASSES_S <= late_s <= PASSES_S, late_s


@pytest.mark.parametrize("seed", seeds(1, 2, 3))
@pytest.mark.parametrize("asks", [9, 4], ids=["asks for more", "at its limit"])
def test_a_running_job_grows_when_its_estimate_says(seed: int, asks: int) -> None:
    async def story(sim: Simulation) -> None:
        sim.submit(limited("other", 2, Random(seed).randint(120, 600)))
        await sim.stays(lambda: True, "the other runs", 1)
        dev = sim.submit(scaled(least=1, asks=asks, most=9))
        await sim.until(lambda: workers(sim, dev) == 4, "dev has what is left", 2)
        growth = await estimated(sim, "dev")
        assert (growth.granted, growth.pods) in ((4, 1), (4, 2))
        sim.autoscaler.demand["dev/gpu"] = 9
        await comes_true(sim, dev, growth)

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_a_waiting_gang_goes_first(seed: int) -> None:
    """The estimate is the end of the second job: the first one's quota goes to a gang."""

    async def story(sim: Simulation) -> None:
        sim.submit(limited("first", 2, 120))
        sim.submit(limited("second", 2, 400))
        dev = sim.submit(scaled(least=2, asks=9, most=9))
        await sim.until(lambda: workers(sim, dev) == 2, "all quota is used", 2)
        gang = sim.submit(limited("gang", 2, 1_200))
        await sim.until(lambda: bool(sim.waits(gang)), "the gang waits")
        growth = await estimated(sim, "dev")
        sim.autoscaler.demand["dev/gpu"] = 9
        await comes_true(sim, dev, growth)
        assert sim.state(gang) == "Running"

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_requested_nodes_come_when_their_estimate_says(seed: int) -> None:
    """While the growth waits for its nodes, the time is in the condition; then it is not."""

    async def story(sim: Simulation) -> None:
        dev = await starts(sim)
        await sim.until(lambda: granted(sim, dev) == QUOTA, "it has quota for more", 2)
        await sim.until(lambda: "have nodes" in limit(sim, dev), "it waits for their nodes", 1)
        growth = await estimated(sim, "dev", assumed=replace(ASSUMED, provisioning_median_s=300))
        assert (growth.granted, growth.pods) == (MINIMUM, QUOTA - MINIMUM)
        (at_ms,) = growth.time.starts_ms
        assert at_ms is not None
        (announced,) = growth_ranges([growth])
        annotations = {GROWTH_ETA_ANNOTATION: annotation([announced])}
        sim.patch(kinds.RAY_JOBS, dev, {"metadata": {"annotations": annotations}})
        clause = f"; 4 more expected about {rfc3339(at_ms)[11:16]} UTC"
        await sim.until(lambda: limit(sim, dev).endswith(clause), "the condition has it", 1)
        await sim.until(lambda: clause in wait(sim, dev), "it is told", 3)
        await asyncio.sleep((at_ms - sim.wall_clock_ms()) / 1000)
        assert workers(sim, dev) == MINIMUM
        sim.cloud.nodes_max = QUOTA
        await sim.until(lambda: workers(sim, dev) == QUOTA, "it has its nodes", 1)
        assert "expected" not in limit(sim, dev)

    queued(seed, nodes=MINIMUM).run(story)


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_growth_that_try_estimates_comes_true(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        sim.submit(limited("other", 4, 240))
        sim.submit(ray_job("endless", workers=1, seconds=10_000))
        await sim.stays(lambda: True, "the others run", 1)
        job = scaled(least=1, asks=4)
        growth = await estimated(sim, "dev", job)
        assert (growth.granted, growth.pods) == (1, 3)
        dev = sim.submit(job)
        sim.autoscaler.demand["dev/gpu"] = 4
        await sim.until(lambda: sim.has(dev, "Admitted"), "it starts")
        await comes_true(sim, dev, growth)

    Simulation(seed, platform()).run(story)


def wait(sim: Simulation, job: str) -> str:
    return str(sim.job(job)["metadata"]["annotations"].get(WAIT_ANNOTATION))


def limit(sim: Simulation, job: str) -> str:
    return str(condition(sim.workload(job), "GrowthLimited").get("message"))


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_an_annotated_estimate_is_in_the_condition_and_in_the_wait(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(scaled(least=2, asks=9, most=9))
        await sim.until(lambda: sim.has(dev, "GrowthLimited") and workers(sim, dev) == 6, "its limit", 2)
        now_ms = sim.wall_clock_ms()
        at_ms = now_ms + 3_600_000
        growth = GrowthRange("gpu", 6, 2, StartRange(now_ms, at_ms, at_ms, at_ms, 20))
        clause = growth.sentence(now_ms)
        annotations = {GROWTH_ETA_ANNOTATION: annotation([growth])}
        sim.patch(kinds.RAY_JOBS, dev, {"metadata": {"annotations": annotations}})
        await sim.until(lambda: limit(sim, dev).endswith(f"; {clause}"), "the condition has it", 1)
        await sim.until(lambda: clause in wait(sim, dev), "it is told", 3)
        sim.patch(kinds.RAY_JOBS, dev, {"metadata": {"annotations": {GROWTH_ETA_ANNOTATION: "mine"}}})
        await sim.until(lambda: "expected" not in limit(sim, dev), "no estimate is no clause", 1)

    Simulation(seed, platform()).run(story)
