"""Quota belongs to whoever was granted it, whatever tenants and administrators do, and pods that linger."""

import pytest

from muster.controller.templates import WORKLOAD_UID_LABEL
from muster.kube import kinds
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.simulation import Simulation

SEEDS = (1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pod_of_another_team_does_not_keep_a_victims_quota_held(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=600))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        workload = sim.workload(dev)
        assert workload is not None
        labels = {WORKLOAD_UID_LABEL: workload["metadata"]["uid"]}
        pod = {"metadata": {"name": "squatter", "namespace": "team-b", "labels": labels}}
        sim.api.create(kinds.PODS, {**pod, "spec": {}, "status": {"phase": "Running"}}, "team-b")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Running", "prod has dev's quota", 2)

    Simulation(seed, local_stack(check=False)).run(story)
