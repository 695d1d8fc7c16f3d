"""Growth on queued pools: nodes for further workers are requested separately."""

import asyncio
from typing import Any

import pytest

from muster.kube import kinds
from muster.objects.names import CONSUME_ANNOTATION, GROWTH_LABEL, REQUEST_LABEL
from tests.simulation.api import Body, Change, key_of
from tests.simulation.elastic_gangs import elastic, elastic_service, granted, platform, workers
from tests.simulation.invariants import condition
from tests.simulation.kuberay_pods import GROUP_LABEL, is_gated
from tests.simulation.manifests import ray_job
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)
MINIMUM, QUOTA = 2, 6


def queued(seed: int, *, nodes: int = QUOTA, base_s: int = 60) -> Simulation:
    """Returns a cluster whose GPU nodes are provisioned by request. Fails if a worker runs on nodes of no
    request, or of a request with fewer nodes."""
    retry = {"base_s": base_s}
    sim = Simulation(seed, platform(QUOTA, check=True, retry=retry), nodes=nodes)

    def check(change: Change) -> None:
        if change.kind is kinds.PODS and change.type != "DELETED":
            check_nodes(sim, change.body)

    sim.api.watchers.append(check)
    return sim


def check_nodes(sim: Simulation, pod: Body) -> None:
    if not pod["metadata"]["name"].startswith("dev-") or group_of(pod) != "gpu" or is_gated(pod):
        return
    selector = pod["spec"].get("nodeSelector", {}).get(REQUEST_LABEL)
    name = pod["metadata"].get("annotations", {}).get(CONSUME_ANNOTATION)
    assert selector, f"the gate of {key_of(pod)} was opened without nodes"
    assert name, f"{key_of(pod)} does not name its request"
    uid = selector.removeprefix("resize-")
    owners = [r for r in sim.api.all(kinds.PROVISIONING_REQUESTS) if r["metadata"]["uid"] == uid]
    assert not owners or owners[0]["metadata"]["name"] == name
    selectors = [p["spec"].get("nodeSelector", {}) for p in sim.api.all(kinds.PODS)]
    same = [s for s in selectors if s.get(REQUEST_LABEL) == selector]
    assert len(same) <= sim.cloud.nodes.get(selector, 0), f"{len(same)} pods on the nodes of {name}"


def group_of(pod: Body) -> str:
    return str(pod["metadata"]["labels"].get(GROUP_LABEL, ""))


def growth(sim: Simulation) -> dict[str, int]:
    """Returns the pods of each request for growth, by its number."""
    return {
        r["metadata"]["name"].rpartition("-growth-")[2]: sum(s["count"] for s in r["spec"]["podSets"])
        for r in sim.api.all(kinds.PROVISIONING_REQUESTS)
        if GROWTH_LABEL in r["metadata"]["labels"]
    }


def limit(sim: Simulation) -> int:
    (cluster,) = sim.api.all(kinds.RAY_CLUSTERS)
    return int(cluster["spec"]["workerGroupSpecs"][0]["maxReplicas"])


def writes(sim: Simulation) -> int:
    """Returns the number of the controller's writes about gangs."""
    about = (kinds.WORKLOADS, kinds.RAY_CLUSTERS, kinds.PODS, kinds.PROVISIONING_REQUESTS)
    return sum(change.by == "controller" for kind in about for change in sim.api.journal[kind])


def limit_message(sim: Simulation, job: str) -> str:
    limited = condition(sim.workload(job), "GrowthLimited")
    return str(limited["message"]) if limited.get("status") == "True" else ""


def head(sim: Simulation, job: str) -> list[str]:
    return [pod["metadata"]["uid"] for pod in sim.pods_of(job) if group_of(pod) == "head"]


async def starts(sim: Simulation, **more: Any) -> str:
    """Submits a job that starts with its minimum, and has work for six workers."""
    job = sim.submit(elastic("dev", asks=MINIMUM, seconds=7200, **more))
    await sim.until(lambda: workers(sim, job) == MINIMUM, "it has its minimum", 2)
    sim.autoscaler.demand["dev/gpu"] = 10
    return job


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
