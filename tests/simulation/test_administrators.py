"""Careless administrators: their changes affect only the gangs concerned, with a message."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.names import DEVICE_CLASSES
from tests.simulation.api import Body
from tests.simulation.manifests import CHECK, WORKER, group, local_queue, local_stack, quotas, ray_job
from tests.simulation.simulation import Simulation

BY = "administrator"
TOO_MUCH = "1e400"
KATA = {"metadata": {"name": "kata"}}
Edit = Callable[[Simulation], None]


@dataclass(frozen=True)
class Mistake:
    """`waits`: the start of the message for a later gang of team-a; empty: it runs. `worker`: the template of
    team-a's workers."""

    edit: Edit
    waits: str = ""
    worker: Body | None = None


def creating(kind: Kind[Any], body: Body) -> Edit:
    return lambda sim: ignored(sim.api.create(kind, body, BY))


def patching(kind: Kind[Any], key: str, patch: Body) -> Edit:
    return lambda sim: ignored(sim.api.merge_patch(kind, key, patch, BY, False))


def deleting(kind: Kind[Any], key: str) -> Edit:
    return lambda sim: sim.api.delete(kind, key, BY)


def ignored(result: object) -> None:
    """Does nothing: no further check after the edit."""


def limit_range(**bounds: Body) -> Edit:
    limits = {"limits": [{"type": "Container", **bounds}]}
    return creating(kinds.LIMIT_RANGES, {"metadata": {"name": "all", "namespace": "team-a"}, "spec": limits})


def recreate_local_queue(sim: Simulation) -> None:
    sim.api.delete(kinds.LOCAL_QUEUES, "team-a/user-queue", BY)
    sim.api.create(kinds.LOCAL_QUEUES, local_queue("team-a", "team-b"), BY)


def queue_of(**spec: Any) -> Edit:
    return patching(kinds.CLUSTER_QUEUES, "team-a", {"spec": spec})


CPU_ALONE = [group(quotas("cpu", cpu=8, memory="32Gi", gpu=0))]
NEGATIVE = [group(quotas("l4", cpu=-1, memory=-1, gpu=-1))]
IN_KATA = {"spec": {**WORKER["spec"], "runtimeClassName": "kata"}}
CLAIM_TEMPLATE = {
    "metadata": {"name": "one-gpu", "namespace": "team-a"},
    "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}},
}
WITH_CLAIM = {
    "spec": {
        **WORKER["spec"],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
    }
}


def device_classes(text: str | None) -> Edit:
    patch = {"metadata": {"annotations": {DEVICE_CLASSES: text}}}
    return patching(kinds.CLUSTER_QUEUES, "team-a", patch)


without_quota = device_classes('{"gpu": ""}')  # claims of the tests are for devices without quota
MISTAKES: dict[str, Mistake] = {
    "a LimitRange with a maximum that can't be counted": Mistake(
        limit_range(max={"cpu": TOO_MUCH}), "Misconfigured: LimitRange team-a/all can't be counted with"
    ),
    "a LimitRange with a default that can't be counted": Mistake(
        limit_range(default={"cpu": TOO_MUCH}, defaultRequest={"cpu": TOO_MUCH}),
        "Misconfigured: LimitRange team-a/all can't be counted with",
    ),
    "a RuntimeClass with an overhead that can't be counted": Mistake(
        patching(kinds.RUNTIME_CLASSES, "kata", {"overhead": {"podFixed": {"memory": TOO_MUCH}}}),
        "Misconfigured: RuntimeClass kata can't be counted with",
        IN_KATA,
    ),
    "a RuntimeClass is deleted": Mistake(
        deleting(kinds.RUNTIME_CLASSES, "kata"),
        "Misconfigured: pod set 'gpu': RuntimeClass 'kata' does not exist",
        IN_KATA,
    ),
    "a flavor is taken from the queue": Mistake(
        queue_of(resourceGroups=CPU_ALONE),
        "NoMatchingFlavor: pod set gpu requests nvidia.com/gpu, for which ClusterQueue team-a has no quota",
    ),
    "a quota below nothing": Mistake(
        queue_of(resourceGroups=NEGATIVE), "Misconfigured: ClusterQueue team-a can't admit workloads: "
    ),
    "namespaces are no longer selected": Mistake(
        queue_of(namespaceSelector={"matchLabels": {"team": "a"}}),
        "Misconfigured: namespace team-a does not match the namespaceSelector of ClusterQueue team-a",
    ),
    "the flavor is deleted, as far as may be": Mistake(deleting(kinds.FLAVORS, "l4")),
    "the check is deleted, as far as may be": Mistake(deleting(kinds.CHECKS, CHECK)),
    "the cohort is deleted": Mistake(deleting(kinds.COHORTS, "ml")),
    "the priority class is deleted": Mistake(
        deleting(kinds.PRIORITIES, "dev-priority"),
        "Misconfigured: WorkloadPriorityClass 'dev-priority' does not exist",
    ),
    "the local queue leads elsewhere": Mistake(recreate_local_queue),
    "a ResourceClaimTemplate is deleted": Mistake(
        deleting(kinds.RESOURCE_CLAIM_TEMPLATES, "team-a/one-gpu"),
        "Misconfigured: pod set 'gpu': namespace team-a has no ResourceClaimTemplate 'one-gpu'",
        WITH_CLAIM,
    ),
    "no ResourceClaimTemplate is served any more": Mistake(
        lambda sim: sim.api.stop_serving(kinds.RESOURCE_CLAIM_TEMPLATES),
        "Misconfigured: pod set 'gpu': namespace team-a has no ResourceClaimTemplate 'one-gpu'",
        WITH_CLAIM,
    ),
    "a DeviceClass loses its resource": Mistake(
        device_classes(None),
        "Misconfigured: pod set 'gpu': ResourceClaimTemplate 'one-gpu' is for devices of DeviceClass 'gpu'",
        WITH_CLAIM,
    ),
    "resources of DeviceClasses that can't be read": Mistake(
        device_classes("gpu"),
        "Misconfigured: ClusterQueue team-a can't admit workloads: annotation muster.dev/device-classes: ",
    ),
    "no DeviceClass is served any more": Mistake(
        lambda sim: sim.api.stop_serving(kinds.DEVICE_CLASSES), "", WITH_CLAIM
    ),
    "no Topology is served any more": Mistake(lambda sim: sim.api.stop_serving(kinds.TOPOLOGIES)),
    "no ProvisioningRequest is served any more": Mistake(
        lambda sim: sim.api.stop_serving(kinds.PROVISIONING_REQUESTS)
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_gang_ends_and_another_team_goes_on(name: str) -> None:
    """Restarts the controller too. Team-b's gang needs no cloud capacity here."""
    mistake = MISTAKES[name]
    fields: dict[str, Any] = {} if mistake.worker is None else {"worker": mistake.worker}

    async def story(sim: Simulation) -> None:
        sim.api.create(kinds.RUNTIME_CLASSES, KATA, BY)
        sim.api.create(kinds.RESOURCE_CLAIM_TEMPLATES, CLAIM_TEMPLATE, BY)
        without_quota(sim)
        dev = sim.submit(ray_job("dev", seconds=60, **fields))
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs")
        mistake.edit(sim)
        for other in ("first", "after-a-restart"):
            b = sim.submit(ray_job(other, namespace="team-b", workers=0, seconds=5, priority="prod-priority"))
            await sim.until(partial(completed, sim, b), "team-b continues", 2)
            sim.kill()
        await sim.until(lambda: sim.state(dev) == "Complete", "dev ends in peace")
        late = sim.submit(ray_job("late", seconds=5, **fields))
        if mistake.waits:
            await sim.until(lambda: sim.waits(late).startswith(mistake.waits), "the message", 2)
        elif not sim.api.unserved.intersection({kinds.PROVISIONING_REQUESTS}):
            await sim.until(lambda: sim.state(late) == "Complete", "others run")

    Simulation(1, local_stack()).run(story)


def test_a_gang_whose_request_cannot_be_created_releases_its_quota() -> None:
    """Rejected after as many retries as a request without an answer."""

    async def story(sim: Simulation) -> None:
        sim.api.stop_serving(kinds.PROVISIONING_REQUESTS)
        dev = sim.submit(ray_job("dev"))
        reason = "Error creating ProvisioningRequest"
        await sim.until(lambda: sim.has(dev, "QuotaReserved"), "dev has quota")
        await sim.stays(lambda: sim.has(dev, "QuotaReserved"), "dev waits for its request", 9)
        await sim.until(lambda: sim.has(dev, "Evicted"), "dev gives its quota back", 2)
        await sim.until(lambda: sim.waits(dev).startswith("Suspended: "), "it is finally rejected", 60)
        assert reason in sim.waits(dev)

    Simulation(1, local_stack()).run(story)


def completed(sim: Simulation, job: str) -> bool:
    return sim.state(job) == "Complete"


def delete_namespace(sim: Simulation, name: str) -> None:
    """Deletes the namespace: its objects go, and creations in it fail."""
    sim.patch(kinds.NAMESPACES, name, {"metadata": {"finalizers": ["kubernetes"]}})
    sim.api.delete(kinds.NAMESPACES, name, BY)
    for kind, objects in list(sim.api.objects.items()):
        for key in [key for key in objects if key.startswith(f"{name}/")]:
            sim.api.delete(kind, key, "namespace controller")


@pytest.mark.parametrize("state", ["QuotaReserved", "PodsReady"])
def test_a_deleted_namespace_releases_its_quota(state: str) -> None:
    """All objects in the namespace are deleted."""
    cpu, all_gpus = quotas("cpu", cpu=8, memory="32Gi", gpu=0), quotas("l4", cpu=16, memory="64Gi", gpu=4)

    async def story(sim: Simulation) -> None:
        for queue in ("team-a", "team-b"):  # four GPUs for both
            nominal = all_gpus if queue == "team-a" else quotas("l4", cpu=0, memory=0, gpu=0)
            patch = {"spec": {"resourceGroups": [group(cpu, nominal)]}}
            sim.api.merge_patch(kinds.CLUSTER_QUEUES, queue, patch, BY, False)
        dev = sim.submit(ray_job("dev", seconds=10_000))
        await sim.until(lambda: sim.has(dev, state), f"dev is {state}")
        delete_namespace(sim, "team-a")
        sim.kill()
        b = sim.submit(ray_job("b", namespace="team-b", seconds=5))
        await sim.until(lambda: sim.state(b) == "Complete", "team-b has the GPUs")
        remaining = [
            key for objects in sim.api.objects.values() for key in objects if key.startswith("team-a/")
        ]
        assert remaining == []

    Simulation(1, local_stack()).run(story)


def test_a_gang_whose_claim_has_no_template_waits_until_it_has_one() -> None:
    """Meanwhile the gang holds no quota; uncounted resources are reported once it does."""

    async def story(sim: Simulation) -> None:
        without_quota(sim)
        dev = sim.submit(ray_job("dev", seconds=5, worker=WITH_CLAIM))
        missing = "Misconfigured: pod set 'gpu': namespace team-a has no ResourceClaimTemplate 'one-gpu'"
        await sim.until(lambda: sim.waits(dev).startswith(missing), "the message")
        await sim.stays(lambda: not sim.has(dev, "QuotaReserved"), "dev holds no quota", 60)
        sim.api.create(kinds.RESOURCE_CLAIM_TEMPLATES, CLAIM_TEMPLATE, BY)
        await sim.until(lambda: sim.has(dev, "QuotaReserved"), "dev has quota", 2)
        (reserved,) = [
            entry
            for entry in (sim.workload(dev) or {})["status"]["conditions"]
            if entry["type"] == "QuotaReserved"
        ]
        assert reserved["message"].endswith(". Devices of DeviceClass gpu are not counted in quota")
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")

    Simulation(1, local_stack()).run(story)
