"""A tenant edits its autoscaled gang to keep what it has above its minimum, without admission policies;
production still gets its GPUs, and quota is never exceeded (an invariant)."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from muster.kube import kinds
from muster.objects.ray import CLUSTER_LABEL, GROUP_LABEL
from tests.simulation.api import Body, Refused, key_of
from tests.simulation.elastic_gangs import elastic, platform, workers
from tests.simulation.manifests import ray_job
from tests.simulation.simulation import Simulation

LEAST, MOST = 2, 6
DEV = "team-a/dev"
JOB, CLUSTER = kinds.RAY_JOBS, kinds.RAY_CLUSTERS
NOTICE_MINUTES = 1.0  # the notice of 30 s, and 30 s
BY_FORCE_MINUTES = 2.0
EDIT_INTERVAL_S = 0.5
FINALIZER = "tenant.example/mine"

Edit = Callable[[Simulation], None]


@dataclass(frozen=True)
class Attack:
    """An edit, repeated if `loop`, and the time in which production gets its quota."""

    edit: Edit
    minutes: float = NOTICE_MINUTES
    loop: bool = True


def of_clusters(patch: Callable[[Body], Body]) -> Edit:
    """Edits the RayClusters of the job."""

    def edit(sim: Simulation) -> None:
        for cluster in clusters(sim):
            sim.patch(CLUSTER, key_of(cluster), patch(cluster))

    return edit


def clusters(sim: Simulation) -> list[Body]:
    return [c for c in sim.api.all(CLUSTER) if c["metadata"]["name"].startswith("dev-")]


def groups(**fields: object) -> Edit:
    """Edits the worker groups of its RayClusters."""
    return of_clusters(
        lambda cluster: {
            "spec": {"workerGroupSpecs": [{**g, **fields} for g in cluster["spec"]["workerGroupSpecs"]]}
        }
    )


def groups_of_the_job(**fields: object) -> Edit:
    def edit(sim: Simulation) -> None:
        cluster = sim.job(DEV)["spec"]["rayClusterSpec"]
        changed = [{**g, **fields} for g in cluster["workerGroupSpecs"]]
        sim.patch(JOB, DEV, {"spec": {"rayClusterSpec": {"workerGroupSpecs": changed}}})

    return edit


def of_pods(patch: Body) -> Edit:
    """Edits the pods of its workers, as a container may with the Role of KubeRay's autoscaler."""

    def edit(sim: Simulation) -> None:
        for pod in sim.pods_of(DEV):
            if pod["metadata"]["labels"].get(GROUP_LABEL) == "gpu":
                sim.patch(kinds.PODS, key_of(pod), patch)

    return edit


def deleting_its_cluster(sim: Simulation) -> None:
    for cluster in clusters(sim):
        sim.api.delete(CLUSTER, key_of(cluster), "user")


def flipping_suspend(sim: Simulation) -> None:
    of_clusters(lambda cluster: {"spec": {"suspend": not cluster["spec"].get("suspend")}})(sim)


def naming_workers_to_delete(sim: Simulation) -> None:
    names = sorted(pod["metadata"]["name"] for pod in sim.pods_of(DEV))
    groups(scaleStrategy={"workersToDelete": names[1::2]})(sim)


ATTACKS = {
    "raises the limit": Attack(groups(maxReplicas=200)),
    "raises the limit and asks for more": Attack(groups(maxReplicas=200, replicas=200)),
    "asks for its size again": Attack(groups(replicas=MOST)),
    "raises minReplicas of its RayCluster": Attack(groups(minReplicas=MOST)),
    "raises minReplicas of the RayJob": Attack(groups_of_the_job(minReplicas=MOST)),
    "minReplicas above maxReplicas": Attack(groups(minReplicas=9, maxReplicas=1)),
    "asks for nothing": Attack(groups(replicas=0)),
    "more hosts for each replica": Attack(groups(numOfHosts=4)),
    "a suspended worker group": Attack(groups(suspend=True)),
    "names workers to delete": Attack(naming_workers_to_delete),
    "turns autoscaling off in its RayCluster": Attack(
        of_clusters(lambda _: {"spec": {"enableInTreeAutoscaling": False}})
    ),
    "a large autoscaler": Attack(
        of_clusters(
            lambda _: {
                "spec": {"autoscalerOptions": {"resources": {"requests": {"cpu": "50"}, "limits": {}}}}
            }
        )
    ),
    "flips suspend of its RayCluster": Attack(flipping_suspend),
    "touches its RayCluster": Attack(
        of_clusters(
            lambda c: {"metadata": {"annotations": {"touched": str(c["metadata"]["resourceVersion"])}}}
        ),
        BY_FORCE_MINUTES,
    ),
    "its RayCluster is managed elsewhere": Attack(
        of_clusters(lambda _: {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}})
    ),
    "deletes its RayCluster": Attack(deleting_its_cluster, loop=False),
    "its workers lose their owners": Attack(of_pods({"metadata": {"ownerReferences": None}})),
    "its workers lose KubeRay's labels": Attack(
        of_pods({"metadata": {"labels": {CLUSTER_LABEL: None, GROUP_LABEL: None}}})
    ),
    "its workers have finalizers": Attack(of_pods({"metadata": {"finalizers": [FINALIZER]}})),
    "its workers lose their gates": Attack(of_pods({"spec": {"schedulingGates": None}})),
}


async def repeat(sim: Simulation, attack: Attack) -> None:
    attack.edit(sim)
    while attack.loop:
        await asyncio.sleep(EDIT_INTERVAL_S)
        with contextlib.suppress(Refused):
            attack.edit(sim)


@pytest.mark.parametrize("name", ATTACKS)
def test_production_gets_surplus_whatever_the_tenant_edits(name: str) -> None:
    attack = ATTACKS[name]

    async def story(sim: Simulation) -> None:
        dev = sim.submit(elastic("dev", least=LEAST, most=MOST, asks=MOST, seconds=7200))
        await sim.until(lambda: workers(sim, dev) == MOST, "dev has all GPUs", 3)
        async with asyncio.TaskGroup() as tasks:
            editing = tasks.create_task(repeat(sim, attack))
            await asyncio.sleep(1)
            prod = sim.submit(ray_job("prod", workers=MOST - LEAST, priority="prod-priority", seconds=30))
            await sim.until(lambda: sim.has(prod, "Admitted"), "production has quota", attack.minutes)
            await sim.until(lambda: sim.state(prod) == "Complete", "production completes", 5)
            editing.cancel()

    Simulation(1, platform(MOST)).run(story)
