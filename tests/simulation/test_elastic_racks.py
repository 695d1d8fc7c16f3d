"""Gangs that Ray's autoscaler scales on nodes with racks: each worker gets a host when its gate is opened."""

import asyncio

import pytest

from tests.simulation.elastic_gangs import granted, workers
from tests.simulation.elastic_racks import (
    PREFERRED,
    REQUIRED,
    assigned_by_host,
    elastic_near,
    pods_by_host,
    racks_platform,
)
from tests.simulation.invariants import condition
from tests.simulation.racks import make_ready, near
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)
GPUS = 2  # of a host


@pytest.mark.parametrize("seed", SEEDS)
def test_required_growth_stays_in_the_rack_of_its_gang(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        make_ready(sim)
        dev = sim.submit(elastic_near("dev", REQUIRED, least=1, asks=1))
        await sim.until(lambda: workers(sim, dev) == 1, "it has its minimum", 2)
        (host,) = pods_by_host(sim)
        sim.autoscaler.demand["dev/gpu"] = 8
        await sim.until(lambda: workers(sim, dev) == 4, "it has its rack", 3)
        await sim.stays(lambda: workers(sim, dev) == 4, "it has its rack", 2)
        rack = host.partition("-")[0]
        assert pods_by_host(sim) == {f"{rack}-a": 2, f"{rack}-b": 2} == assigned_by_host(sim, dev)
        await sim.until(lambda: not workers(sim, dev, gated=True), "no pod waits for nodes")
        limit = condition(sim.workload(dev), "GrowthLimited")
        assert limit["reason"] == "TopologyPlacementFailed"
        assert limit["message"].startswith(
            "4 of up to 8 workers granted in group gpu; it can't grow because a worker has enough quota, but "
            'waits for nodes: for pod set gpu, topology "racks" doesn\'t allow to fit any of 1 pod(s).'
        )

    Simulation(seed, racks_platform()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_preferred_growth_leaves_a_full_rack(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        make_ready(sim)
        dev = sim.submit(elastic_near("dev", PREFERRED, least=1, asks=3))
        await sim.until(lambda: workers(sim, dev) == 3, "it has what it asks for", 3)
        assert len({host.partition("-")[0] for host in pods_by_host(sim)}) == 1, "one rack suffices"
        sim.autoscaler.demand["dev/gpu"] = 8
        await sim.until(lambda: workers(sim, dev) == 8, "it has all nodes", 3)
        assert pods_by_host(sim) == dict.fromkeys(("r1-a", "r1-b", "r2-a", "r2-b"), 2)

    Simulation(seed, racks_platform()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_hosts_of_workers_that_ray_removes_are_free_and_no_host_has_too_many(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        make_ready(sim)
        dev = sim.submit(elastic_near("dev", PREFERRED, least=1, asks=8))
        await sim.until(lambda: workers(sim, dev) == 8, "it has all nodes", 3)
        for size in (3, 7, 2, 8, 4):
            sim.autoscaler.demand["dev/gpu"] = size
            while not workers(sim, dev) == size == granted(sim, dev):
                assert max(pods_by_host(sim).values()) <= GPUS
                await asyncio.sleep(0.2)
            await sim.until(lambda: not sim.has(dev, "Shrinking"), "the others have ended", 1)
            await sim.until(lambda: assigned_by_host(sim, dev) == pods_by_host(sim), "is by its pods", 1)
        other = sim.submit(elastic_near("other", PREFERRED, least=4, asks=4))
        await sim.until(lambda: workers(sim, other) == 4, "the other has the free hosts", 2)
        assert pods_by_host(sim) == dict.fromkeys(("r1-a", "r1-b", "r2-a", "r2-b"), GPUS)

    Simulation(seed, racks_platform()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_production_preempts_surplus_for_its_nodes(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        make_ready(sim)
        dev = sim.submit(elastic_near("dev", PREFERRED, least=2, asks=8))
        await sim.until(lambda: workers(sim, dev) == 8, "dev has all nodes", 3)
        prod = sim.submit(near("prod", seconds=30))
        await sim.until(lambda: sim.state(prod) == "Running", "production runs", 3)
        assert not sim.has(dev, "Evicted")
        assert max(pods_by_host(sim).values()) <= GPUS
        sim.autoscaler.demand["dev/gpu"] = 8
        await sim.until(lambda: workers(sim, dev) == 8, "dev has grown again", 4)

    Simulation(seed, racks_platform()).run(story)
