"""Upgrades of queued RayServices: in place, with the quota of the gang, or with a second service."""

from typing import Any

import pytest

from muster.kube import kinds
from tests.simulation.api import Body
from tests.simulation.elastic_gangs import elastic_service, platform
from tests.simulation.manifests import ray_service
from tests.simulation.ray_services import BY_DELETION, IN_PLACE, VERSIONS, is_ready
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SERVICE = kinds.RAY_SERVICES
SUSPENDED_IN = {
    IN_PLACE: {"rayClusterConfig": {"suspend": True}},
    BY_DELETION: {"suspend": True, "rayClusterConfig": {"suspend": True}},
}


def images(sim: Simulation, service: str) -> set[str]:
    """Returns the images of Ray's containers in the pods that run."""
    running = (pod for pod in sim.pods_of(service) if pod["status"]["phase"] == "Running")
    return {pod["spec"]["containers"][0]["image"] for pod in running}


def ready(sim: Simulation, service: str) -> bool:
    return is_ready(sim.api.get(SERVICE, service)) and sim.has(service, "PodsReady", SERVICE)


def with_image(service: Body, image: str) -> dict[str, Any]:
    """Returns the service's cluster with this image in all templates."""
    cluster = service["spec"]["rayClusterConfig"]
    head = {**cluster["headGroupSpec"], "template": _with_image(cluster["headGroupSpec"]["template"], image)}
    groups = [{**g, "template": _with_image(g["template"], image)} for g in cluster["workerGroupSpecs"]]
    return {"headGroupSpec": head, "workerGroupSpecs": groups}


def _with_image(template: Body, image: str) -> Body:
    containers = [{**c, "image": image} for c in template["spec"]["containers"]]
    return {**template, "spec": {**template["spec"], "containers": containers}}


@pytest.mark.parametrize("seed", seeds(1, 2, 3))
@pytest.mark.parametrize("version", VERSIONS)
def test_a_service_is_upgraded_in_place_with_its_own_quota(version: str, seed: int) -> None:
    """KubeRay applies a changed template when the cluster is suspended, and Muster resumes it."""

    async def story(sim: Simulation) -> None:
        service = sim.submit(elastic_service("llm", least=4))
        await sim.until(lambda: ready(sim, service), "it serves", 10)
        assert images(sim, service) == {"ray"}
        written = with_image(sim.api.get(SERVICE, service), "ray:2")
        sim.patch(SERVICE, service, {"spec": {"rayClusterConfig": written}})
        await sim.stays(lambda: images(sim, service) == {"ray"}, "KubeRay keeps the old one", 2)
        other = sim.submit(ray_service("other", workers=4))
        sim.patch(SERVICE, service, {"spec": SUSPENDED_IN[version]})
        await sim.until(lambda: images(sim, service) == {"ray:2"}, "the new version runs", 5)
        await sim.until(lambda: ready(sim, service), "it serves again", 5)
        assert not sim.has(other, "QuotaReserved", SERVICE)

    Simulation(seed, platform(), kuberay=version).run(story)


@pytest.mark.parametrize("gpus", [4, 8])
def test_a_second_service_waits_for_its_own_quota_while_the_first_serves(gpus: int) -> None:
    async def story(sim: Simulation) -> None:
        old = sim.submit(elastic_service("llm", least=4))
        await sim.until(lambda: ready(sim, old), "the old version serves", 10)
        new = sim.submit(elastic_service("llm-2", least=4))
        if gpus == 4:
            await sim.stays(lambda: ready(sim, old) and not sim.has(new, "Admitted", SERVICE), "it waits", 2)
        else:
            await sim.until(lambda: ready(sim, new), "both versions serve", 10)
            assert ready(sim, old)
        sim.api.delete(SERVICE, old, "user")
        await sim.until(lambda: ready(sim, new), "the new version serves", 10)

    Simulation(1, platform(gpus)).run(story)
