"""Containers and pods that KubeRay adds to a gang run on its quota, the Redis clean-up among them."""

from typing import Any

import pytest

from muster.kube import kinds
from tests.simulation.api import Body, Change
from tests.simulation.invariants import Broken, condition
from tests.simulation.kuberay_pods import requests_of
from tests.simulation.manifests import (
    cluster_queue,
    quotas,
    ray_cluster,
    ray_cluster_spec,
    ray_job,
    stack,
    template,
)
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)
TINY = template("tiny", cpu="1m", memory="1Mi")
RECLAIMS = {"withinClusterQueue": "LowerPriority"}
REDIS = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
GPU_INIT = {"name": "init", "resources": {"limits": {"nvidia.com/gpu": "4"}}}


def cpus(nominal: int) -> Any:
    """Returns a platform with a queue with this many CPUs and enough of all other resources."""
    quota = quotas("cpu", cpu=nominal, memory="64Gi", gpu=8)
    return stack(cluster_queue("team-a", quota, preemption=RECLAIMS))


def watch_cpus(sim: Simulation, most: int) -> None:
    """Fails the simulation once pods request more CPUs."""

    def check(change: Change) -> None:
        if change.kind is kinds.PODS:
            pods = (p for p in sim.api.all(kinds.PODS) if p["status"]["phase"] not in ("Succeeded", "Failed"))
            asked = sum(requests_of(p["spec"]).get("cpu", 0) for p in pods)
            if asked > most:
                raise Broken(f"pods request {float(asked)} CPUs, on a quota of {most}")

    sim.api.watchers.append(check)


def tiny(name: str, mode: str, **spec: Any) -> Body:
    cluster = ray_cluster_spec(1, worker=TINY, head=TINY)
    return ray_job(name, submissionMode=mode, seconds=20, rayClusterSpec={**cluster, **spec})


@pytest.mark.parametrize("seed", SEEDS)
def test_submitters_in_the_head_run_on_quota(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        watch_cpus(sim, 4)
        jobs = [sim.submit(tiny(f"job-{n}", "SidecarMode")) for n in range(12)]
        await sim.until(lambda: all(sim.state(job) == "Complete" for job in jobs), "all jobs ran in turn", 20)

    Simulation(seed, cpus(4)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_containers_in_which_workers_wait_run_on_quota(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        watch_cpus(sim, 2)
        jobs = [sim.submit(tiny(f"job-{n}", "HTTPMode")) for n in range(20)]
        await sim.until(lambda: all(sim.state(job) == "Complete" for job in jobs), "all jobs ran in turn", 20)

    Simulation(seed, cpus(2)).run(story)


def test_pod_level_requests_run_on_quota() -> None:
    large = {"spec": {**TINY["spec"], "resources": {"requests": {"cpu": "2"}}}}

    async def story(sim: Simulation) -> None:
        watch_cpus(sim, 8)
        fits = sim.submit(ray_job("fits", workers=3, worker=large, submissionMode="HTTPMode", seconds=600))
        job = sim.submit(ray_job("large", workers=14, worker=large, submissionMode="HTTPMode"))
        await sim.until(lambda: sim.state(fits) == "Running", "the small one runs")
        await sim.until(lambda: "cpu" in sim.waits(job), "the large one waits for CPUs")
        await sim.stays(lambda: sim.state(job) in ("", "Suspended"), "the large one waits")

    Simulation(1, cpus(8)).run(story)


def redis_cluster(name: str, **options: Any) -> Body:
    head = {"spec": {**template("head", cpu=1, memory="1Gi")["spec"], **options}}
    body = ray_cluster(name)
    spec = ray_cluster_spec(1, worker=template("worker", cpu=1), head=head)
    body["spec"] = {**spec, **REDIS, "suspend": True}
    return body


def cleanup_pods(sim: Simulation) -> list[Body]:
    pods = (p for p in sim.api.all(kinds.PODS) if p["status"]["phase"] not in ("Succeeded", "Failed"))
    return [p for p in pods if p["metadata"]["labels"].get("ray.io/node-type") == "redis-cleanup"]


def gone(sim: Simulation, key: str) -> bool:
    return sim.api.find(kinds.RAY_CLUSTERS, key) is None


def warned(sim: Simulation) -> bool:
    return any(event["reason"] == "RedisNotCleanedUp" for event in sim.api.all(kinds.EVENTS))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cluster_that_was_never_admitted_is_deleted_without_a_clean_up(seed: int) -> None:
    """Without the policy that refuses its Job, the pod is deleted within seconds instead of minutes."""

    async def story(sim: Simulation) -> None:
        sim.kuberay.cleanup_seconds = 300
        key = sim.submit(redis_cluster("notebook", initContainers=[GPU_INIT]))

        def still_held() -> bool:
            return bool(sim.api.get(kinds.RAY_CLUSTERS, key)["metadata"].get("finalizers"))

        await sim.until(still_held, "KubeRay keeps it")
        await sim.until(lambda: sim.workload(key, kinds.RAY_CLUSTERS) is not None, "it waits")
        sim.api.delete(kinds.RAY_CLUSTERS, key, "user")
        await sim.until(lambda: gone(sim, key), "it is deleted", 0.25)
        await sim.until(lambda: not cleanup_pods(sim), "so is its pod", 0.5)
        await sim.until(lambda: not sim.api.all(kinds.WORKLOADS), "and its Workload", 1)
        assert warned(sim)

    Simulation(seed, cpus(1)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_clean_up_of_an_admitted_cluster_runs_on_its_quota(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        watch_cpus(sim, 2)
        key = sim.submit(redis_cluster("notebook"))
        await sim.until(lambda: sim.has(key, "Admitted", kinds.RAY_CLUSTERS), "it runs")
        await sim.until(lambda: len(sim.api.all(kinds.PODS)) == 2, "both pods run")
        other = sim.submit(redis_cluster("other"))
        sim.kuberay.cleanup_seconds = 40
        sim.api.delete(kinds.RAY_CLUSTERS, key, "user")
        await sim.until(lambda: bool(cleanup_pods(sim)), "the clean-up runs", 1)
        assert not sim.has(other, "Admitted", kinds.RAY_CLUSTERS)
        await sim.until(lambda: gone(sim, key), "the clean-up has ended", 1)
        await sim.until(lambda: sim.has(other, "Admitted", kinds.RAY_CLUSTERS), "the other one runs", 1)
        assert not warned(sim)

    Simulation(seed, cpus(2)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clean_up_that_does_not_end_releases_its_quota(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        watch_cpus(sim, 2)
        key = sim.submit(redis_cluster("notebook"))
        await sim.until(lambda: len(sim.api.all(kinds.PODS)) == 2, "both pods run")
        other = sim.submit(redis_cluster("other"))
        sim.kuberay.cleanup_seconds = 300
        sim.api.delete(kinds.RAY_CLUSTERS, key, "user")
        await sim.until(lambda: sim.has(other, "Admitted", kinds.RAY_CLUSTERS), "the other one runs", 2.5)
        assert gone(sim, key)
        assert warned(sim)

    Simulation(seed, cpus(2)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_production_waits_for_the_clean_up_of_its_victim(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        watch_cpus(sim, 3)
        spec = {**ray_cluster_spec(1, worker=template("worker", cpu=1)), **REDIS}
        dev = sim.submit(ray_job("dev", seconds=900, submissionMode="HTTPMode", rayClusterSpec=spec))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        sim.kuberay.cleanup_seconds = 30
        plain = ray_cluster_spec(2, worker=template("worker", cpu=1))
        prod = sim.submit(
            ray_job("prod", priority="prod-priority", submissionMode="HTTPMode", rayClusterSpec=plain)
        )
        await sim.until(lambda: bool(cleanup_pods(sim)), "dev's clean-up runs")
        assert condition(sim.workload(dev), "QuotaReserved").get("status") == "True"
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs", 2)
        assert not cleanup_pods(sim)
        assert not warned(sim)

    Simulation(seed, cpus(3)).run(story)
