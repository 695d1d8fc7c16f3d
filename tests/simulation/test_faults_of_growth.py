"""Growth on queued pools while the controller is killed, clocks are wrong, and nodes come and go."""

import asyncio

import pytest

from muster.kube import kinds
from muster.objects.names import CONSUME_ANNOTATION, GROWTH_LABEL
from tests.simulation.api import Body, key_of
from tests.simulation.elastic_gangs import elastic, granted, workers
from tests.simulation.invariants import condition
from tests.simulation.manifests import ray_job
from tests.simulation.queued_growth import MINIMUM, QUOTA, group_of, growth, head, queued, starts
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)


@pytest.mark.parametrize("hours", [-1, 1])
@pytest.mark.parametrize("seed", SEEDS)
def test_growth_with_a_clock_that_is_wrong(seed: int, hours: int) -> None:
    async def story(sim: Simulation) -> None:
        sim.clock_error_ms = hours * 3_600_000
        job = await starts(sim)
        await sim.until(lambda: bool(growth(sim)), "nodes are requested", 2)
        await sim.stays(lambda: len(growth(sim)) == 1, "the request waits", 30)
        sim.cloud.nodes_max = QUOTA
        await sim.until(lambda: workers(sim, job) == QUOTA, "it has grown", 3)
        created = [c for c in sim.api.journal[kinds.PROVISIONING_REQUESTS] if c.type == "ADDED"]
        assert len(created) <= 3

    queued(seed, nodes=MINIMUM).run(story)


@pytest.mark.parametrize("seed", seeds(*range(1, 7)))
def test_growth_survives_kills_of_the_controller(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        job = await starts(sim)
        for _ in range(20):
            await asyncio.sleep(sim.random.uniform(0, 4))
            assert sim.kube is not None
            sim.kube.killed.set()
        sim.cloud.nodes_max = QUOTA
        await sim.until(lambda: workers(sim, job) == QUOTA, "it has grown", 4)
        assert sum(growth(sim).values()) == QUOTA - MINIMUM

    queued(seed, nodes=MINIMUM).run(story)


@pytest.mark.parametrize("after", range(1, 13))
def test_growth_with_a_sigkill_after_any_write(after: int) -> None:
    """Each process dies at its `after`th write, so it never gets far."""

    async def story(sim: Simulation) -> None:
        sim.kill_after = after
        sim.autoscaler.demand["dev/gpu"] = 10
        dev = sim.submit(elastic("dev", asks=MINIMUM, seconds=7200))
        await sim.until(lambda: workers(sim, dev) == QUOTA, "dev has grown", 15)
        prod = sim.submit(ray_job("prod", workers=3, priority="prod-priority", seconds=30))
        await sim.until(lambda: sim.state(prod) == "Complete", "production completes", 20)
        await sim.until(lambda: workers(sim, dev) == QUOTA, "dev has grown again", 15)
        assert not sim.has(dev, "Evicted")

    queued(after, nodes=2 * QUOTA).run(story)


def disturb(sim: Simulation) -> None:
    """Does something that may happen to a growing gang and its nodes."""
    assert sim.kube is not None
    requests = [r for r in sim.api.all(kinds.PROVISIONING_REQUESTS) if is_provisioned(r)]
    pods = [p for p in sim.api.all(kinds.PODS) if group_of(p) == "gpu"]
    match sim.random.randrange(8):
        case 0 | 1:
            sim.autoscaler.demand["dev/gpu"] = sim.random.choice((0, 2, 3, 5, 10))
        case 2:
            sim.cloud.stock_outs = sim.random.choice((0, 1, 2))
        case 3:
            sim.cloud.nodes_max = sim.random.choice((QUOTA // 2, QUOTA, 2 * QUOTA))
        case 4 if requests:
            kind = sim.random.choice(("CapacityRevoked", "BookingExpired"))
            sim.cloud.say(sim.random.choice(requests), kind, f"{kind} by the cloud")
        case 5 if pods:
            sim.api.delete(kinds.PODS, key_of(sim.random.choice(pods)), "node controller")
        case 6:
            sim.kube.killed.set()
        case 7:
            sim.autoscaler.running = not sim.autoscaler.running


def is_provisioned(request: Body) -> bool:
    """Returns whether it is a request for growth that the cloud has only provisioned so far."""
    reported = {c["type"] for c in request.get("status", {}).get("conditions", [])}
    return GROWTH_LABEL in request["metadata"]["labels"] and reported == {"Accepted", "Provisioned"}


@pytest.mark.parametrize("seed", seeds(*range(1, 25)))
def test_growth_recovers_from_anything(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        job = await starts(sim)
        before = head(sim, job)
        for number in range(30):
            disturb(sim)
            if number % 10 == 9:
                # Three workers together, so the minimum always fits.
                sim.submit(ray_job(f"prod{number}", workers=1, priority="prod-priority", seconds=20))
            await asyncio.sleep(sim.random.uniform(0, 30))
        sim.cloud.stock_outs, sim.cloud.nodes_max, sim.autoscaler.running = 0, 4 * QUOTA, True
        sim.autoscaler.demand["dev/gpu"] = 10
        await sim.until(lambda: workers(sim, job) == QUOTA, "it has all of the quota", 40)
        assert head(sim, job) == before
        sim.autoscaler.demand["dev/gpu"] = MINIMUM
        await sim.until(lambda: granted(sim, job) == workers(sim, job) == MINIMUM, "it shrinks", 3)
        used = {p["metadata"].get("annotations", {}).get(CONSUME_ANNOTATION) for p in sim.pods_of(job)}
        await sim.until(lambda: all(name in used for name in idle(sim)), "no idle nodes are requested", 3)

    queued(seed, base_s=5).run(story)


def idle(sim: Simulation) -> list[str]:
    """Returns the names of the requests for growth that have nodes, or may get some."""
    return [
        request["metadata"]["name"]
        for request in sim.api.all(kinds.PROVISIONING_REQUESTS)
        if GROWTH_LABEL in request["metadata"]["labels"]
        and not condition(request, "Failed")
        and not condition(request, "CapacityRevoked")
    ]
