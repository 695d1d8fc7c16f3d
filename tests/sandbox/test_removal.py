"""A queue, a tenant and the whole stack are removed while gangs run, as docs/removing.md says."""

from collections.abc import Iterator

import pytest

from tests.sandbox.conftest import NAMESPACE, Cluster, Manifest, Second
from tests.sandbox.removal import Config, deploy, destroy, lasting, tenants, until_runs

CLAIM = "checkpoints"


@pytest.fixture(scope="module")
def own(second: Second) -> Iterator[Cluster]:
    yield second.cluster()
    second.stop()


def drained(config: Config) -> None:
    (queue,) = (queue for queue in config["muster:queues"]["clusterQueues"] if queue["name"] == "team-a")
    queue["stop"] = "HoldAndDrain"


def without_queue(config: Config) -> None:
    queues = config["muster:queues"]
    queues["clusterQueues"] = [queue for queue in queues["clusterQueues"] if queue["name"] != "team-a"]
    config["muster:tenants"][0]["queues"] = {"user-queue": "team-b"}


def without_tenant(config: Config) -> None:
    config["muster:tenants"] = [t for t in config["muster:tenants"] if t["namespace"] != "team-b"]


@pytest.mark.thorough
def test_a_drained_queue_is_removed_and_its_gang_goes_on_in_another(own: Cluster) -> None:
    job = own.submit(lasting("moves"))
    until_runs(own, job)
    deploy(own.state, drained)
    own.until("the end of its pods", lambda: own.pods(job) == [])
    deploy(own.state, without_queue)
    assert own.kubectl.run("get", "clusterqueues", "-o", "name").split() == [
        "clusterqueue.kueue.x-k8s.io/team-b"
    ]
    until_runs(own, job)
    own.kubectl.run("delete", "rayjob", job, "-n", NAMESPACE)


@pytest.mark.thorough
def test_a_tenant_is_removed_with_its_gang_and_others_run_on(own: Cluster) -> None:
    stays, leaves = own.submit(lasting("stays")), own.submit(lasting("leaves", namespace="team-b"))
    until_runs(own, stays)
    until_runs(own, leaves, "team-b")
    pods = {pod["metadata"]["uid"] for pod in own.pods(stays)}
    deploy(own.state, without_tenant)
    assert tenants(own) == [NAMESPACE]
    assert {pod["metadata"]["uid"] for pod in own.pods(stays)} == pods


@pytest.mark.thorough
def test_the_stack_is_destroyed_while_a_gang_has_a_claim_mounted(own: Cluster) -> None:
    own.kubectl.create(volume_and_claim())
    job = lasting("mounts")
    pod = job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]
    pod["volumes"] = [{"name": CLAIM, "persistentVolumeClaim": {"claimName": CLAIM}}]
    pod["containers"][0]["volumeMounts"] = [{"name": CLAIM, "mountPath": "/checkpoints"}]
    until_runs(own, own.submit(job))
    destroy(own)


def volume_and_claim() -> list[Manifest]:
    """Returns both, bound to each other, as components/tenants/checkpoints.py declares them on GKE."""
    size, mode = {"storage": "1Gi"}, ["ReadWriteMany"]
    volume = {
        "accessModes": mode,
        "capacity": size,
        "claimRef": {"namespace": NAMESPACE, "name": CLAIM},
        "nfs": {"server": "nowhere.example.com", "path": "/"},
    }
    claim = {
        "accessModes": mode,
        "storageClassName": "",
        "volumeName": CLAIM,
        "resources": {"requests": size},
    }
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": CLAIM},
            "spec": volume,
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": CLAIM, "namespace": NAMESPACE},
            "spec": claim,
        },
    ]
