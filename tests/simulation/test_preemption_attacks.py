"""A tenant edits its running dev gang to resist suspension, without admission policies; a production gang
still gets its GPUs, and never before the other's pods are deleted (an invariant)."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.core import Namespace
from muster.objects.names import QUEUE_LABEL, UNCONSTRAINED_TOPOLOGY, WORKLOAD_UID_LABEL
from muster.objects.ray import CLUSTER_LABEL, GROUP_LABEL
from tests.simulation.api import Body, Refused, key_of
from tests.simulation.invariants import condition
from tests.simulation.manifests import (
    WORKER,
    local_stack,
    ray_cluster,
    ray_cluster_spec,
    ray_job,
    ray_service,
)
from tests.simulation.operators import owned
from tests.simulation.ray_services import IN_PLACE, VERSIONS
from tests.simulation.simulation import Simulation

CONFIG_MAPS = kinds.Kind("", "v1", "ConfigMap", "configmaps", Namespace, namespaced=True)
JOB, CLUSTER, SERVICE = kinds.RAY_JOBS, kinds.RAY_CLUSTERS, kinds.RAY_SERVICES
FINALIZER = "tenant.example/mine"
MULTIKUEUE = {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}
BY_KUBERAY_MINUTES, BY_FORCE_MINUTES = 1.0, 2.0
UPDATE_INTERVAL_S = 0.004  # KubeRay thinks for 0.03 s at most

Edit = Callable[[Simulation, Kind[Any], str], None]
WRITTEN: Mapping[Kind[Any], Callable[..., Body]] = {
    JOB: lambda **fields: ray_job("dev", seconds=10_000, **fields),
    CLUSTER: lambda **fields: ray_cluster("dev", workers=4),
    SERVICE: lambda **fields: ray_service("dev", workers=4, priority="dev-priority", **fields),
}


@dataclass(frozen=True)
class Attack:
    """An edit, repeated if `loop`. `blocked`: the Workload's reason if KubeRay does not stop the gang."""

    kind: Kind[Any]
    edit: Edit
    minutes: float = BY_KUBERAY_MINUTES
    loop: bool = False
    worker: Body | None = None
    blocked: str = ""


def patching(patch: Body) -> Edit:
    return lambda sim, kind, key: sim.patch(kind, key, patch)


def groups(change: Callable[[list[Body]], list[Body]]) -> Edit:
    def edit(sim: Simulation, kind: Kind[Any], key: str) -> None:
        spec = sim.api.get(kind, key)["spec"]
        field = next((f for f in ("rayClusterSpec", "rayClusterConfig") if f in spec), "")
        changed = {"workerGroupSpecs": change((spec[field] if field else spec)["workerGroupSpecs"])}
        sim.patch(kind, key, {"spec": {field: changed} if field else changed})

    return edit


def with_bad_topology(workers: list[Body]) -> list[Body]:
    (group,) = workers
    annotated = {**group["template"].get("metadata", {}), "annotations": {UNCONSTRAINED_TOPOLOGY: "maybe"}}
    return [{**group, "template": {**group["template"], "metadata": annotated}}]


def owned_by_a_config_map(sim: Simulation, kind: Kind[Any], key: str) -> None:
    owner = sim.api.create(CONFIG_MAPS, {"metadata": {"name": "mine", "namespace": "team-a"}}, "user")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": owner["metadata"]["uid"]}
    sim.patch(kind, key, {"metadata": {"ownerReferences": [{**reference, "controller": True}]}})


def deleted_but_kept(sim: Simulation, kind: Kind[Any], key: str) -> None:
    sim.patch(kind, key, {"metadata": {"finalizers": [FINALIZER]}})
    sim.api.delete(kind, key, "user")


def touch(sim: Simulation, kind: Kind[Any], key: str) -> None:
    sim.patch(kind, key, {"metadata": {"annotations": {"touched": str(sim.api.now_ms())}}})


def below(edit: Edit) -> Edit:
    """Makes the same edit of the RayClusters that KubeRay created for the job."""

    def apply(sim: Simulation, kind: Kind[Any], key: str) -> None:
        for cluster in sim.api.all(CLUSTER):
            if any(
                o["name"] == key.rpartition("/")[2] for o in cluster["metadata"].get("ownerReferences", [])
            ):
                edit(sim, CLUSTER, key_of(cluster))

    return apply


def both(*edits: Edit) -> Edit:
    def apply(sim: Simulation, kind: Kind[Any], key: str) -> None:
        for edit in edits:
            edit(sim, kind, key)

    return apply


def dequeued(sim: Simulation, kind: Kind[Any], key: str) -> None:
    sim.patch(kind, key, {"metadata": {"labels": {QUEUE_LABEL: None}}})


def orphaned(sim: Simulation, kind: Kind[Any], key: str) -> None:
    below(patching({"metadata": {"ownerReferences": None}}))(sim, kind, key)
    sim.api.delete(kind, key, "user")


def pretended(sim: Simulation, kind: Kind[Any], key: str) -> None:
    """Creates a RayCluster outside all queues that names the gang's job as its controller, and restarts it
    whenever it is suspended."""
    name = "team-a/pretender"
    if sim.api.find(CLUSTER, name) is None:
        meta = owned(kind, sim.api.get(kind, key), name)
        spec = {**ray_cluster_spec(workers=0), "suspend": False}
        sim.api.create(CLUSTER, {"metadata": meta, "spec": spec}, "user")
    sim.patch(CLUSTER, name, {"spec": {"suspend": False}})


def of_its_pods(patch: Body) -> Edit:
    """Makes an edit of the gang's pods, as a container may with the Role of KubeRay's autoscaler."""

    def edit(sim: Simulation, kind: Kind[Any], key: str) -> None:
        workload = sim.workload(key, kind)
        assert workload is not None
        for pod in sim.api.all(kinds.PODS):
            if pod["metadata"].get("labels", {}).get(WORKLOAD_UID_LABEL) == workload["metadata"]["uid"]:
                sim.patch(kinds.PODS, key_of(pod), patch)

    return edit


def deleted(sim: Simulation, kind: Kind[Any], key: str) -> None:
    sim.api.delete(kind, key, "user")


def twice(workers: list[Body]) -> list[Body]:
    return [*workers, *workers]


def upside_down(workers: list[Body]) -> list[Body]:
    return [{**group, "minReplicas": 3, "maxReplicas": 2} for group in workers]


BAD_TOPOLOGY, TWO_GROUPS, MIN_OVER_MAX = groups(with_bad_topology), groups(twice), groups(upside_down)
NEGATIVE_BACKOFF = patching({"spec": {"backoffLimit": -1}})
OTHERS = patching(MULTIKUEUE)
ORPHANED_BELOW = below(patching({"metadata": {"ownerReferences": None}}))
KEPT_BELOW = below(patching({"metadata": {"finalizers": [FINALIZER]}}))
UNOWNED = of_its_pods({"metadata": {"ownerReferences": None}})
UNLABELLED = of_its_pods({"metadata": {"labels": {CLUSTER_LABEL: None, GROUP_LABEL: None}}})
KEPT_PODS = of_its_pods({"metadata": {"finalizers": [FINALIZER]}})
A_YEAR = {**WORKER, "spec": {**WORKER["spec"], "terminationGracePeriodSeconds": 31_536_000}}

ATTACKS = {
    "invalid topology annotation, RayJob": Attack(JOB, BAD_TOPOLOGY),
    "invalid topology annotation, RayCluster": Attack(CLUSTER, BAD_TOPOLOGY),
    "invalid topology annotation, RayService": Attack(SERVICE, BAD_TOPOLOGY),
    "two worker groups of one name, RayJob": Attack(JOB, TWO_GROUPS),
    "two worker groups of one name, RayCluster": Attack(CLUSTER, TWO_GROUPS),
    "negative backoffLimit": Attack(JOB, NEGATIVE_BACKOFF),
    "never shut down": Attack(JOB, patching({"spec": {"shutdownAfterJobFinishes": False}})),
    "maxReplicas below minReplicas, RayJob": Attack(JOB, MIN_OVER_MAX),
    "maxReplicas below minReplicas, RayCluster": Attack(
        CLUSTER, MIN_OVER_MAX, BY_FORCE_MINUTES, blocked="InvalidSpec"
    ),
    "maxReplicas below minReplicas, RayService": Attack(SERVICE, MIN_OVER_MAX),
    "owned by a ConfigMap, RayJob": Attack(JOB, owned_by_a_config_map),
    "owned by a ConfigMap, RayCluster": Attack(CLUSTER, owned_by_a_config_map),
    "owned by a ConfigMap, RayService": Attack(SERVICE, owned_by_a_config_map),
    "deleted but kept, RayJob": Attack(JOB, deleted_but_kept),
    "deleted but kept, RayCluster": Attack(CLUSTER, deleted_but_kept, BY_FORCE_MINUTES),
    "deleted but kept, RayService": Attack(SERVICE, deleted_but_kept),
    "managed by another controller, RayJob": Attack(JOB, OTHERS, BY_FORCE_MINUTES),
    "managed by another controller, RayCluster": Attack(CLUSTER, OTHERS, BY_FORCE_MINUTES),
    "managed by another controller, RayService": Attack(SERVICE, OTHERS),
    "managed by another controller with its RayCluster": Attack(
        JOB, both(below(OTHERS), OTHERS), BY_FORCE_MINUTES
    ),
    "touched in a loop, RayJob": Attack(JOB, touch, BY_FORCE_MINUTES, loop=True),
    "touched in a loop, RayCluster": Attack(CLUSTER, touch, BY_FORCE_MINUTES, loop=True),
    "touched in a loop, RayService": Attack(SERVICE, touch, loop=True),
    "touched in a loop with its RayCluster": Attack(
        JOB, both(touch, below(touch)), BY_FORCE_MINUTES, loop=True
    ),
    "upgraded by another cluster": Attack(
        SERVICE, patching({"spec": {"upgradeStrategy": {"type": "NewCluster"}}})
    ),
    "suspended by the field that KubeRay 1.7 ignores": Attack(
        SERVICE, patching({"spec": {"rayClusterConfig": {"suspend": True}}})
    ),
    "taken out of the queue, RayJob": Attack(JOB, dequeued),
    "taken out of the queue, RayCluster": Attack(CLUSTER, dequeued),
    "taken out of the queue, RayService": Attack(SERVICE, dequeued),
    "its RayCluster is kept": Attack(JOB, KEPT_BELOW, BY_FORCE_MINUTES, blocked="Finalizers"),
    "its RayCluster is orphaned, and it is refused": Attack(
        JOB,
        both(ORPHANED_BELOW, NEGATIVE_BACKOFF),
        BY_FORCE_MINUTES,
    ),
    "deleted without its RayCluster": Attack(JOB, orphaned, BY_FORCE_MINUTES),
    "a RayCluster that pretends to be its own, RayJob": Attack(JOB, pretended, loop=True),
    "a RayCluster that pretends to be its own, RayService": Attack(SERVICE, pretended, loop=True),
    "its pods lose their owners": Attack(JOB, UNOWNED, BY_FORCE_MINUTES),
    "its pods lose their owners, and it is deleted": Attack(JOB, both(UNOWNED, deleted), BY_FORCE_MINUTES),
    "pods of a RayCluster lose their owners": Attack(CLUSTER, UNOWNED, BY_FORCE_MINUTES),
    "pods of a RayService lose their owners": Attack(SERVICE, UNOWNED, BY_FORCE_MINUTES),
    "its pods lose KubeRay's labels": Attack(JOB, UNLABELLED, BY_FORCE_MINUTES),
    "its pods lose their owners and KubeRay's labels, and it is deleted": Attack(
        JOB, both(UNOWNED, UNLABELLED, deleted), BY_FORCE_MINUTES
    ),
    "its pods have finalizers": Attack(JOB, KEPT_PODS, BY_FORCE_MINUTES),
    "pods of a RayCluster have finalizers": Attack(CLUSTER, KEPT_PODS, BY_FORCE_MINUTES),
    "pods that take a year to end": Attack(JOB, lambda *_: None, BY_FORCE_MINUTES, worker=A_YEAR),
    "refused, with pods that take a year to end": Attack(
        JOB, NEGATIVE_BACKOFF, BY_FORCE_MINUTES, worker=A_YEAR
    ),
}


def in_both_versions(kind: Kind[Any]) -> tuple[str, ...]:
    """Returns the versions of KubeRay that treat the kind differently."""
    return VERSIONS if kind is SERVICE else (IN_PLACE,)


@pytest.mark.parametrize(
    ("name", "version"),
    [(name, version) for name in ATTACKS for version in in_both_versions(ATTACKS[name].kind)],
)
def test_production_gets_its_gpus(name: str, version: str) -> None:
    attack = ATTACKS[name]

    async def story(sim: Simulation) -> None:
        fields = {} if attack.worker is None else {"worker": attack.worker}
        dev = sim.submit(WRITTEN[attack.kind](**fields))
        await sim.until(lambda: sim.has(dev, "PodsReady", attack.kind), "dev runs")
        held = sim.workload(dev, attack.kind)
        assert held is not None
        async with asyncio.TaskGroup() as tasks:
            editing = tasks.create_task(edits(sim, attack, dev))
            await asyncio.sleep(1)
            prod = sim.submit(ray_job("prod", priority="prod-priority"))
            await sim.until(lambda: sim.has(prod, "Admitted"), "prod has quota", attack.minutes)
            if attack.blocked:
                reported = condition(sim.api.get(kinds.WORKLOADS, key_of(held)), "SuspensionBlocked")
                assert (reported["status"], reported["reason"]) == ("True", attack.blocked)
            await sim.until(lambda: sim.state(prod) == "Complete", "prod completes")
            editing.cancel()

    Simulation(1, local_stack(check=False), kuberay=version).run(story)


@pytest.mark.parametrize(
    ("kind", "version"), [(kind, version) for kind in WRITTEN for version in in_both_versions(kind)], ids=str
)
def test_gangs_are_stopped_while_kuberay_does_nothing(kind: Kind[Any], version: str) -> None:
    """The pods are deleted, the quota is released, and the gang waits until KubeRay has stopped it."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(WRITTEN[kind]())
        await sim.until(lambda: sim.has(dev, "PodsReady", kind), "dev runs")
        sim.kuberay.halted = sim.services.halted = True
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.has(prod, "Admitted"), "prod has quota", BY_FORCE_MINUTES)
        reported = condition(sim.workload(dev, kind), "SuspensionBlocked")
        assert (reported["status"], reported["reason"]) == ("True", "OperatorNotResponding")
        sim.api.delete(JOB, prod, "user")
        await sim.stays(lambda: not sim.has(dev, "Admitted", kind), "dev waits for KubeRay", 2)
        sim.kuberay.halted = sim.services.halted = False
        await sim.until(lambda: sim.has(dev, "PodsReady", kind), "dev runs again")
        assert condition(sim.workload(dev, kind), "SuspensionBlocked")["status"] == "False"

    Simulation(1, local_stack(check=False), kuberay=version).run(story)


def test_pods_of_a_lost_node_keep_their_quota() -> None:
    """The pods may still run, so the Workload reports that it waits for them."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=10_000))
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs")
        sim.kubelets.halted = True
        sim.trouble(600)
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.has(dev, "SuspensionBlocked"), "the reason why dev has not stopped", 2.1)
        reported = condition(sim.workload(dev), "SuspensionBlocked")
        assert reported["reason"] == "PodsTerminating"
        names = sorted(pod["metadata"]["name"] for pod in sim.api.all(kinds.PODS))
        assert len(names) == 6, "the head, four workers and the submitter"
        assert reported["message"].endswith(f"pods are still terminating: {', '.join(names[:5])} and 1 more")
        await sim.stays(lambda: not sim.has(prod, "QuotaReserved"), "prod waits", 2)
        (warning,) = [e for e in sim.api.all(kinds.EVENTS) if e["reason"] == "SuspensionBlocked"]
        assert warning["message"] == reported["message"]
        sim.kubelets.halted = False
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs")
        assert not sim.has(dev, "SuspensionBlocked")

    Simulation(1, local_stack(check=False)).run(story)


async def edits(sim: Simulation, attack: Attack, key: str) -> None:
    attack.edit(sim, attack.kind, key)
    while attack.loop:
        await asyncio.sleep(UPDATE_INTERVAL_S)
        with contextlib.suppress(Refused):  # KubeRay has just replaced its RayCluster
            attack.edit(sim, attack.kind, key)
