"""Running gangs edited to resist suspension, on the real API server and KubeRay."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from lightkube.types import PatchType

from muster.kube.client import Kube, WriteError
from muster.kube.kinds import RAY_JOBS
from muster.kube.writes import Overwrite
from sandbox.cluster import kinds
from tests.sandbox.conftest import NAMESPACE, Cluster, rayjob

FINALIZER = "tenant.example/mine"
UPDATE_INTERVAL_S = 0.02


def patch(cluster: Cluster, job: str, body: dict[str, Any]) -> None:
    cluster.client.patch(kinds.RayJob, job, body, namespace=NAMESPACE, patch_type=PatchType.MERGE)


@contextmanager
def refused(cluster: Cluster, job: str) -> Iterator[None]:
    patch(cluster, job, {"spec": {"backoffLimit": -1}})
    yield


@contextmanager
def owned(cluster: Cluster, job: str) -> Iterator[None]:
    meta = {"name": f"{job}-owner", "namespace": NAMESPACE}
    owner = cluster.client.create(kinds.ConfigMap({"metadata": meta}))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "controller": True}
    patch(cluster, job, {"metadata": {"ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}]}})
    yield


@contextmanager
def deleted_but_kept(cluster: Cluster, job: str) -> Iterator[None]:
    finalizers_left = [*cluster.job(job)["metadata"].get("finalizers", []), FINALIZER]
    patch(cluster, job, {"metadata": {"finalizers": finalizers_left}})
    cluster.client.delete(kinds.RayJob, job, namespace=NAMESPACE)
    yield
    patch(cluster, job, {"metadata": {"finalizers": None}})


@contextmanager
def updated_in_a_loop(cluster: Cluster, job: str) -> Iterator[None]:
    done = threading.Event()

    def update() -> None:
        with closing(kinds.connect(cluster.state.kubeconfig)) as client:
            count = 0
            while not done.wait(UPDATE_INTERVAL_S):
                count += 1
                body = {"metadata": {"annotations": {"updated": str(count)}}}
                client.patch(kinds.RayJob, job, body, namespace=NAMESPACE, patch_type=PatchType.MERGE)

    thread = threading.Thread(target=update)
    thread.start()
    yield
    done.set()
    thread.join()


def test_production_gets_the_gpus_of_gangs_that_resist(cluster: Cluster) -> None:
    """One GPU each; production needs all four. An administrator makes the edits, so policies do not apply."""
    attacks = (refused, owned, deleted_but_kept, updated_in_a_loop)
    with ExitStack() as edits:
        jobs = [cluster.submit(lasting(rayjob(a.__name__.replace("_", "-"), gpus=1))) for a in attacks]
        for job in jobs:
            cluster.until(f"pods of {job}", lambda job=job: runs(cluster, job))  # type: ignore[misc]  # in turn
        for attack, job in zip(attacks, jobs, strict=True):
            edits.enter_context(attack(cluster, job))
        prod = rayjob("prod", gpus=4)
        prod["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "prod-priority"
        cluster.until_succeeded(cluster.submit(prod))


def test_a_late_write_never_changes_another_object_of_the_name(cluster: Cluster) -> None:
    job = cluster.submit(rayjob("renewed"))

    body = {"metadata": {"labels": {"hit": "true"}}}
    write = Overwrite(RAY_JOBS, f"{NAMESPACE}/{job}", body, "00000000-0000-0000-0000-000000000000")

    async def perform() -> None:
        kube = Kube(str(cluster.state.kubeconfig))
        try:
            await kube.perform(write)
        finally:
            await kube.close()

    with pytest.raises(WriteError) as caught:
        asyncio.run(perform())
    assert caught.value.stale
    assert "hit" not in cluster.job(job)["metadata"]["labels"]


def lasting(job: dict[str, Any]) -> dict[str, Any]:
    job["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "3600"
    return job


def runs(cluster: Cluster, job: str) -> bool:
    return bool(cluster.job(job).get("status", {}).get("jobDeploymentStatus") == "Running")
