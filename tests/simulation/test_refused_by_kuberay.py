"""Gangs that KubeRay refuses while they hold quota: they lose it if KubeRay will not run them."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from muster.kube import kinds
from muster.kube.kinds import Kind
from tests.simulation.api import Body
from tests.simulation.invariants import condition, holds_quota
from tests.simulation.manifests import local_stack, ray_cluster, ray_job, ray_service
from tests.simulation.simulation import Simulation

JOB, CLUSTER, SERVICE = kinds.RAY_JOBS, kinds.RAY_CLUSTERS, kinds.RAY_SERVICES
MADE: Mapping[Kind[Any], Callable[[], Body]] = {
    JOB: lambda: ray_job("dev", seconds=10_000),
    CLUSTER: lambda: ray_cluster("dev"),
    SERVICE: lambda: ray_service("dev"),
}
EDITS: dict[str, Body] = {
    "not YAML": {"runtimeEnvYAML": "{{{"},
    "negative backoffLimit": {"backoffLimit": -1},
}


def set_min_replicas(sim: Simulation, kind: Kind[Any], key: str, replicas: int) -> None:
    field = {CLUSTER: "", SERVICE: "rayClusterConfig"}[kind]
    spec = sim.api.get(kind, key)["spec"]
    (group,) = (spec[field] if field else spec)["workerGroupSpecs"]
    changed = {"workerGroupSpecs": [{**group, "minReplicas": replicas}]}
    sim.patch(kind, key, {"spec": {field: changed} if field else changed})


def has_quota(sim: Simulation, key: str, kind: Kind[Any] = JOB) -> bool:
    workload = sim.workload(key, kind)
    return workload is not None and holds_quota(workload)


def event_messages(sim: Simulation, reason: str) -> list[str]:
    return [e["message"] for e in sim.api.all(kinds.EVENTS) if e["reason"] == reason]


@pytest.mark.parametrize("state", ["QuotaReserved", "Admitted", "PodsReady"])
@pytest.mark.parametrize("name", EDITS)
def test_a_rayjob_that_fails_validation_loses_its_quota_for_good(name: str, state: str) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(MADE[JOB]())
        await sim.until(lambda: sim.has(dev, state), f"dev is {state}")
        sim.patch(JOB, dev, {"spec": EDITS[name]})
        await sim.until(lambda: not has_quota(sim, dev), "dev's quota is released without waiting jobs", 2)
        assert {pod["status"]["phase"] for pod in sim.pods_of(dev)} <= {"Failed"}, "none runs"
        evicted = condition(sim.workload(dev), "Evicted")
        assert evicted["reason"] == "ValidationFailed"
        assert evicted["message"].startswith("RayJob dev was rejected by KubeRay (")
        assert event_messages(sim, "EvictedDueToValidationFailed") == [evicted["message"]]
        await sim.until(lambda: sim.waits(dev).startswith("Misconfigured: the RayJob was rejected"), "why")
        sim.patch(JOB, dev, {"spec": dict.fromkeys(EDITS[name])})  # KubeRay does not look at it again
        await sim.stays(lambda: not has_quota(sim, dev), "dev waits")
        again = sim.submit(ray_job("again"))
        await sim.until(lambda: sim.state(again) == "Complete", "the corrected job completes")

    Simulation(1, local_stack()).run(story)


@pytest.mark.parametrize("kind", [CLUSTER, SERVICE], ids=repr)
def test_jobs_that_were_never_ready_lose_their_quota_until_corrected(kind: Kind[Any]) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(MADE[kind]())
        await sim.until(lambda: sim.has(dev, "QuotaReserved", kind), "dev has quota")
        set_min_replicas(sim, kind, dev, 1000)
        await sim.until(lambda: not has_quota(sim, dev, kind), "its quota is released", 2)
        evicted = condition(sim.workload(dev, kind), "Evicted")
        assert evicted["reason"] == "InvalidSpec"
        assert evicted["message"].endswith("minReplicas 1000 is more than maxReplicas 100")
        set_min_replicas(sim, kind, dev, 0)
        await sim.until(lambda: sim.has(dev, "PodsReady", kind), "dev runs, once it is corrected")

    Simulation(1, local_stack()).run(story)


@pytest.mark.parametrize("kind", [CLUSTER, SERVICE], ids=repr)
def test_clusters_and_services_that_run_go_on(kind: Kind[Any]) -> None:
    """KubeRay keeps its pods, and reconciles it again once it is corrected."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(MADE[kind]())
        await sim.until(lambda: sim.has(dev, "PodsReady", kind), "dev runs")
        pods = {p["metadata"]["uid"] for p in sim.api.all(kinds.PODS)}
        set_min_replicas(sim, kind, dev, 1000)
        await sim.stays(lambda: has_quota(sim, dev, kind), "dev keeps its quota")
        set_min_replicas(sim, kind, dev, 0)
        await sim.stays(lambda: has_quota(sim, dev, kind), "dev keeps its quota")
        assert {p["metadata"]["uid"] for p in sim.api.all(kinds.PODS)} == pods

    Simulation(1, local_stack()).run(story)
