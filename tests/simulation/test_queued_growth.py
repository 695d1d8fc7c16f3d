"""Growth on queued pools: nodes for further workers are requested separately."""

import asyncio

import pytest

from muster.kube import kinds
from muster.objects.names import CONSUME_ANNOTATION, GROWTH_LABEL
from tests.simulation.api import key_of
from tests.simulation.elastic_gangs import elastic, elastic_service, granted, workers
from tests.simulation.manifests import ray_job
from tests.simulation.queued_growth import (
    MINIMUM,
    QUOTA,
    growth,
    head,
    limit,
    limit_message,
    queued,
    starts,
    writes,
)
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gang_grows_onto_nodes_of_further_requests(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        job = await starts(sim)
        await sim.until(lambda: workers(sim, job) == QUOTA, "it has all of the quota", 3)
        assert sum(growth(sim).values()) == QUOTA - MINIMUM
        await sim.stays(lambda: workers(sim, job) == QUOTA, "it keeps them", 5)
        assert not sim.has(job, "Evicted")

    queued(seed).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_replicas_of_several_hosts_are_whole(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        job = sim.submit(elastic("dev", asks=1, least=1, hosts=2, seconds=7200))
        await sim.until(lambda: workers(sim, job) == 2, "it has its minimum", 2)
        sim.autoscaler.demand["dev/gpu"] = 8
        await sim.until(lambda: bool(growth(sim)), "nodes are requested", 2)
        assert all(count % 2 == 0 for count in growth(sim).values())
        await sim.until(lambda: limit(sim) == 1, "the limit is in replicas", 1)
        sim.cloud.nodes_max = QUOTA
        await sim.until(lambda: workers(sim, job) == QUOTA, "it has three replicas", 3)

    queued(seed, nodes=2).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_service_grows_onto_nodes_of_further_requests(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        service = sim.submit(elastic_service("dev", least=1))
        await sim.until(lambda: workers(sim, service) == 1, "it has its minimum", 2)
        sim.autoscaler.demand["dev/gpu"] = 5
        await sim.until(lambda: workers(sim, service) == 5, "it has grown", 3)
        assert sum(growth(sim).values()) == 4

    queued(seed).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_growth_waits_for_its_nodes_without_pods(seed: int) -> None:
    """The quota is reserved, and Ray's autoscaler may turn to another group."""

    async def story(sim: Simulation) -> None:
        job = await starts(sim)
        await sim.until(lambda: bool(growth(sim)), "nodes are requested", 2)
        await sim.until(lambda: limit(sim) == MINIMUM and not workers(sim, job, gated=True), "no pod waits")
        (count,) = growth(sim).values()
        await asyncio.sleep(60)
        before = writes(sim)
        await sim.stays(
            lambda: (
                granted(sim, job) == MINIMUM + count
                and limit(sim) == workers(sim, job) == MINIMUM
                and not workers(sim, job, gated=True)
            ),
            "it keeps its quota and its limit",
            60,
        )
        assert writes(sim) == before, "the controller rests"
        assert "2 of " in limit_message(sim, job), limit_message(sim, job)
        assert "have nodes; the next" in limit_message(sim, job)
        sim.cloud.nodes_max = QUOTA
        await sim.until(lambda: workers(sim, job) == QUOTA, "it grows", 3)

    queued(seed, nodes=MINIMUM).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stock_out_leaves_the_gang_alone_and_is_retried_later(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        job = await starts(sim)
        before = head(sim, job)
        sim.cloud.stock_outs = 2
        await sim.until(lambda: sim.cloud.stock_outs == 1, "the zone is out of stock", 2)
        await sim.until(lambda: granted(sim, job) == MINIMUM, "its quota is released", 1)
        await sim.until(lambda: "out of stock" in limit_message(sim, job), "the reason is reported", 1)
        await sim.stays(lambda: sim.cloud.stock_outs == 1, "back-off", 0.5)
        assert granted(sim, job) == limit(sim) == workers(sim, job) == MINIMUM
        await sim.until(lambda: sim.cloud.stock_outs == 0, "the second attempt", 2)
        await sim.until(lambda: granted(sim, job) == MINIMUM, "its quota is released again", 1)
        await sim.stays(lambda: granted(sim, job) == MINIMUM, "a longer back-off", 1.5)
        await sim.until(lambda: workers(sim, job) == QUOTA, "the third attempt", 3)
        assert head(sim, job) == before

    queued(seed).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_revoked_nodes_are_requested_again(seed: int) -> None:
    """The pods on them run until the cloud removes the nodes."""

    async def story(sim: Simulation) -> None:
        job = await starts(sim)
        await sim.until(lambda: workers(sim, job) == QUOTA, "it has grown", 3)
        before = head(sim, job)
        for request in sim.api.all(kinds.PROVISIONING_REQUESTS):
            if GROWTH_LABEL in request["metadata"]["labels"]:
                sim.cloud.say(request, "CapacityRevoked", "the nodes have reached their maximum age")
                revoked = request["metadata"]["name"]
        await sim.stays(lambda: workers(sim, job) == QUOTA, "its pods run", 1)
        for pod in sim.pods_of(job):
            if pod["metadata"].get("annotations", {}).get(CONSUME_ANNOTATION) == revoked:
                sim.api.delete(kinds.PODS, key_of(pod), "cloud")
        await sim.until(lambda: workers(sim, job) < QUOTA, "the pods have ended", 1)
        await sim.until(lambda: revoked not in sim.requests(), "its request is deleted", 2)
        await sim.until(lambda: workers(sim, job) == QUOTA, "it has grown again", 5)
        assert head(sim, job) == before

    queued(seed, nodes=2 * QUOTA).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_that_nothing_uses_any_more_are_released(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        job = await starts(sim)
        await sim.until(lambda: workers(sim, job) == QUOTA, "it has grown", 3)
        sim.autoscaler.demand["dev/gpu"] = MINIMUM
        await sim.until(lambda: workers(sim, job) == MINIMUM, "it has shrunk", 2)
        # The autoscaler chooses the workers: some may be left on nodes of a request for growth.
        on = {p["metadata"].get("annotations", {}).get(CONSUME_ANNOTATION) for p in sim.pods_of(job)}
        await sim.until(
            lambda: all(
                r["metadata"]["name"] in on
                for r in sim.api.all(kinds.PROVISIONING_REQUESTS)
                if GROWTH_LABEL in r["metadata"]["labels"]
            ),
            "the requests of the others are deleted",
            2,
        )
        sim.autoscaler.demand["dev/gpu"] = 10
        await sim.until(lambda: workers(sim, job) == QUOTA, "it grows again", 3)

    queued(seed, nodes=2 * QUOTA).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_come_after_the_work_has_gone(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        job = await starts(sim)
        await sim.until(lambda: bool(growth(sim)), "nodes are requested", 2)
        await sim.until(lambda: limit(sim) == MINIMUM, "the limit is that of its nodes", 1)
        sim.autoscaler.demand["dev/gpu"] = MINIMUM
        await asyncio.sleep(30)
        sim.cloud.nodes_max = QUOTA
        await sim.until(lambda: not growth(sim), "its requests are deleted", 3)
        await sim.until(lambda: granted(sim, job) == MINIMUM, "its quota is released", 1)
        await sim.stays(lambda: not growth(sim), "nothing is requested", 3)

    queued(seed, nodes=MINIMUM).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_production_preempts_growth_that_waits_for_nodes(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = await starts(sim)
        await sim.until(lambda: granted(sim, dev) == QUOTA, "dev holds all of the quota", 3)
        await sim.until(lambda: bool(growth(sim)), "nodes are requested", 1)
        before = head(sim, dev)
        prod = sim.submit(ray_job("prod", workers=3, priority="prod-priority", seconds=30))
        await sim.until(lambda: granted(sim, dev) == 3, "dev is preempted", 1)
        await sim.until(lambda: growth(sim) in ({}, {f"gpu-{2}": 1}, {"gpu-1": 1}), "it requests less", 2)
        sim.cloud.nodes_max = 2 * QUOTA
        await sim.until(lambda: sim.state(prod) == "Running", "production runs", 2)
        assert (head(sim, dev), sim.has(dev, "Evicted")) == (before, False)
        await sim.until(lambda: sim.state(prod) == "Complete", "production ends", 3)
        await sim.until(lambda: workers(sim, dev) == QUOTA, "dev grows", 5)

    queued(seed, nodes=MINIMUM).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_eviction_deletes_requests_for_growth(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = await starts(sim)
        await sim.until(lambda: bool(growth(sim)), "nodes are requested", 3)
        prod = sim.submit(ray_job("prod", workers=5, priority="prod-priority", seconds=30))
        sim.cloud.nodes_max = QUOTA
        await sim.until(lambda: sim.has(dev, "Evicted"), "dev is evicted", 2)
        await sim.until(lambda: sim.state(prod) == "Running", "production runs", 3)
        assert not growth(sim)
        await sim.until(lambda: workers(sim, dev) == QUOTA, "dev runs and grows again", 6)

    queued(seed, nodes=MINIMUM).run(story)
