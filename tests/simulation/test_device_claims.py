"""Gangs whose pods claim devices: they wait for quota, and administrators change how devices are counted."""

import json
from typing import Any

from muster.kube import kinds
from muster.objects.names import DEVICE_CLASSES
from tests.simulation.api import Body
from tests.simulation.manifests import GPU, local_stack, ray_job, template
from tests.simulation.simulation import Simulation

BY = "administrator"
FPGA = "example.com/fpga"
CLAIM = {
    "metadata": {"name": "one-gpu", "namespace": "team-a"},
    "spec": {
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}
    },
}


def claiming() -> dict[str, Any]:
    worker = template("worker", cpu=1, memory="1Gi")
    worker["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    return worker


def claimer(name: str, workers: int, **fields: Any) -> Body:
    """Returns a RayJob whose workers claim a GPU each."""
    body = ray_job(name, workers=workers, worker=claiming(), **fields)
    (group,) = body["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    group["rayStartParams"] = {"num-gpus": "1"}
    return body


def mapped(sim: Simulation, classes: dict[str, str]) -> None:
    patch = {"metadata": {"annotations": {DEVICE_CLASSES: json.dumps(classes)}}}
    sim.api.merge_patch(kinds.CLUSTER_QUEUES, "team-a", patch, BY, False)


def usage(sim: Simulation, job: str) -> dict[str, str]:
    """Returns the quota that the gang's workers hold."""
    admission = (sim.workload(job) or {})["status"]["admission"]
    (workers,) = [a for a in admission["podSetAssignments"] if a["name"] == "gpu"]
    return dict(workers["resourceUsage"])


def test_claimed_devices_need_quota() -> None:
    """Team-a has four GPUs, and may not borrow."""

    async def story(sim: Simulation) -> None:
        sim.api.create(kinds.RESOURCE_CLAIM_TEMPLATES, CLAIM, BY)
        mapped(sim, {"gpu.nvidia.com": GPU})
        first = sim.submit(claimer("first", workers=3, seconds=60))
        await sim.until(lambda: sim.has(first, "QuotaReserved"), "first has quota", 2)
        assert usage(sim, first)[GPU] == "3"
        second = sim.submit(claimer("second", workers=2, seconds=5))
        await sim.until(lambda: GPU in sim.waits(second), "second waits for devices", 2)
        await sim.until(lambda: sim.state(second) == "Complete", "second runs after first", 200)

    Simulation(1, local_stack(check=False)).run(story)


def test_a_change_of_the_mapping_needs_no_restart_and_leaves_reserved_quota() -> None:
    async def story(sim: Simulation) -> None:
        sim.api.create(kinds.RESOURCE_CLAIM_TEMPLATES, CLAIM, BY)
        mapped(sim, {"gpu.nvidia.com": GPU})
        first = sim.submit(claimer("first", workers=4, seconds=600))
        await sim.until(lambda: sim.has(first, "PodsReady"), "first runs", 60)
        second = sim.submit(claimer("second", workers=1, seconds=5))
        await sim.until(lambda: GPU in sim.waits(second), "second waits for devices", 2)
        mapped(sim, {"gpu.nvidia.com": FPGA})
        await sim.until(lambda: FPGA in sim.waits(second), "second waits for the other resource", 2)
        mapped(sim, {"fpga.example.com": FPGA})
        refused = (
            "Misconfigured: pod set 'gpu': ResourceClaimTemplate 'one-gpu' is for devices of DeviceClass"
        )
        await sim.until(lambda: sim.waits(second).startswith(refused), "second is refused", 2)
        assert usage(sim, first)[GPU] == "4"
        mapped(sim, {"gpu.nvidia.com": ""})
        await sim.until(lambda: sim.state(second) == "Complete", "second runs beside first", 60)
        assert usage(sim, first)[GPU] == "4"

    Simulation(1, local_stack(check=False)).run(story)


def test_a_template_that_is_recreated_counts_for_later_gangs_only() -> None:
    bigger = json.loads(json.dumps(CLAIM))
    bigger["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2

    async def story(sim: Simulation) -> None:
        sim.api.create(kinds.RESOURCE_CLAIM_TEMPLATES, CLAIM, BY)
        mapped(sim, {"gpu.nvidia.com": GPU})
        first = sim.submit(claimer("first", workers=2, seconds=600))
        await sim.until(lambda: sim.has(first, "PodsReady"), "first runs", 60)
        sim.api.delete(kinds.RESOURCE_CLAIM_TEMPLATES, "team-a/one-gpu", BY)
        sim.api.create(kinds.RESOURCE_CLAIM_TEMPLATES, bigger, BY)
        sim.kill()
        second = sim.submit(claimer("second", workers=1, seconds=600))
        await sim.until(lambda: sim.has(second, "QuotaReserved"), "second has quota", 30)
        assert (usage(sim, first)[GPU], usage(sim, second)[GPU]) == ("2", "2")
        third = sim.submit(claimer("third", workers=1))
        await sim.until(lambda: GPU in sim.waits(third), "third waits for devices", 30)

    Simulation(1, local_stack(check=False)).run(story)
