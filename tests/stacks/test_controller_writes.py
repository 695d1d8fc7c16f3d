"""The controller's rarer writes, with its own account and under all policies of stack local."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from muster.kube import kinds
from muster.kube.client import Kube, WriteError
from muster.kube.kinds import Kind
from muster.kube.writes import Delete, MergePatch, Overwrite, Write
from muster.objects.names import ETA_ANNOTATION, GROWTH_ETA_ANNOTATION, RESOURCE_IN_USE
from sandbox.cluster.controller_process import write_token_kubeconfig
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from tests.stacks.dry_runs import EFFECT_SECONDS_MAX, Manifest
from tests.stacks.kueue_objects import workload
from tests.stacks.ray_requests import ADMIN, child, refusal

NAME = "for-the-controller"


def kueue_object(kind: str, spec: dict[str, Any]) -> Manifest:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": NAME}, "spec": spec}


def cluster_queue(cpu: str) -> Manifest:
    flavor = {"name": "cpu", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    return kueue_object(
        "ClusterQueue", {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}
    )


IN_USE: dict[str, tuple[Kind[Any], Manifest]] = {
    "ClusterQueue": (kinds.CLUSTER_QUEUES, cluster_queue("1")),
    "ResourceFlavor": (kinds.FLAVORS, kueue_object("ResourceFlavor", {"nodeLabels": {"pool": "cpu"}})),
    "AdmissionCheck": (kinds.CHECKS, kueue_object("AdmissionCheck", {"controllerName": "example.com/check"})),
}
INVALID: dict[str, tuple[Kind[Any], Manifest]] = {
    "ClusterQueue": (kinds.CLUSTER_QUEUES, cluster_queue("-1")),
    "ResourceFlavor": (kinds.FLAVORS, kueue_object("ResourceFlavor", {"nodeLabels": {"a b": "c"}})),
}


@pytest.fixture(scope="module")
def account(server: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kubeconfig with a token of the controller's ServiceAccount."""
    path = tmp_path_factory.mktemp("account") / "kubeconfig"
    write_token_kubeconfig(server, path)
    return path


def perform(account: Path, write: Write) -> None:
    async def story() -> None:
        kube = Kube(str(account))
        try:
            await kube.perform(write)
        finally:
            await kube.close()

    asyncio.run(story())


def create_object(server: Kubectl, manifest: Manifest) -> Manifest:
    body_text = json.dumps(manifest)
    created: Manifest = json.loads(server.run("create", "-f", "-", "-o", "json", stdin=body_text))
    return created


def set_finalizers(server: Kubectl, account: Path, kind: Kind[Any], target: str, names: list[str]) -> None:
    version = server.run("get", target, "-o", "jsonpath={.metadata.resourceVersion}")
    perform(account, MergePatch(kind, f"/{NAME}", {"metadata": {"finalizers": names}}, version))


def goes_when_it_is_released(server: Kubectl, account: Path, kind: Kind[Any], target: str) -> None:
    """Asserts that the finalizer keeps the object, and that its removal deletes it."""
    set_finalizers(server, account, kind, target, [RESOURCE_IN_USE])
    server.run("delete", target, "--wait=false")
    assert server.run("get", target, "-o", "jsonpath={.metadata.finalizers}") == f'["{RESOURCE_IN_USE}"]'
    set_finalizers(server, account, kind, target, [])
    assert server.run("get", target, "--ignore-not-found") == ""


def test_a_first_status_keeps_the_rest_of_its_workload(server: Kubectl, account: Path) -> None:
    labels = {"example.com/team": "a"}
    created = create_object(server, workload(name="first-status", labels=labels))
    meta = created["metadata"]
    condition = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "waits"}
    status = {"conditions": [condition | {"lastTransitionTime": "2027-01-15T08:00:00Z"}]}
    key, version = f"{meta['namespace']}/{meta['name']}", meta["resourceVersion"]
    perform(account, MergePatch(kinds.WORKLOADS, key, {"status": status}, version, status=True, whole=True))
    after = json.loads(
        server.run("get", "workload.kueue.x-k8s.io", "first-status", "-n", meta["namespace"], "-o", "json")
    )
    assert after["status"] == status
    assert (after["spec"], after["metadata"]["labels"]) == (created["spec"], labels)
    with pytest.raises(WriteError, match="the object has been modified"):
        perform(account, MergePatch(kinds.WORKLOADS, key, {"status": {}}, version, status=True, whole=True))


def test_the_status_of_a_queue_is_replaced_and_keeps_the_rest(server: Kubectl, account: Path) -> None:
    created = create_object(server, cluster_queue("1"))
    condition = {"type": "Active", "status": "True", "reason": "Ready", "message": "Can admit new workloads"}
    status = {"conditions": [condition | {"lastTransitionTime": "2027-01-15T08:00:00Z"}]}
    version = created["metadata"]["resourceVersion"]
    for pending in (1, 0):
        new = {**status, "pendingWorkloads": pending}
        write = MergePatch(
            kinds.CLUSTER_QUEUES, f"/{NAME}", {"status": new}, version, status=True, whole=True
        )
        perform(account, write)
        after = json.loads(server.run("get", f"clusterqueue/{NAME}", "-o", "json"))
        assert (after["status"]["pendingWorkloads"], after["spec"]) == (pending, created["spec"])
        version = after["metadata"]["resourceVersion"]
    server.run("delete", f"clusterqueue/{NAME}")


@pytest.mark.parametrize("name", IN_USE)
def test_objects_in_use_are_kept_by_a_finalizer_and_released(
    server: Kubectl, account: Path, name: str
) -> None:
    kind, manifest = IN_USE[name]
    server.create([manifest])
    goes_when_it_is_released(server, account, kind, f"{name}/{NAME}")


@pytest.fixture(params=INVALID)
def invalid(server: Kubectl, request: pytest.FixtureRequest) -> tuple[Kind[Any], str]:
    """An object that the policies refuse, created before they were enforced."""
    kind, manifest = INVALID[request.param]
    target = f"validatingadmissionpolicybinding/muster-{request.param.lower()}s-are-valid"
    binding = json.loads(server.run("get", target, "-o", "json"))
    binding["metadata"] = {"name": binding["metadata"]["name"]}
    server.run("delete", target)
    try:
        wait_until("no policy", lambda: not refusal(server, ADMIN, manifest), EFFECT_SECONDS_MAX)
        server.create([manifest])
    finally:
        server.create([binding])
    other = manifest | {"metadata": {"name": "another"}}
    wait_until("the policy again", lambda: bool(refusal(server, ADMIN, other)), EFFECT_SECONDS_MAX)
    return kind, f"{request.param}/{NAME}"


def test_invalid_objects_are_kept_and_released_too(
    server: Kubectl, account: Path, invalid: tuple[Kind[Any], str]
) -> None:
    goes_when_it_is_released(server, account, *invalid)


POD = {"containers": [{"name": "main", "image": "ray"}], "restartPolicy": "Never"}
META = {"name": NAME, "namespace": "team-a"}
KEY = f"team-a/{NAME}"
SUSPENDED = {"spec": {"suspend": True}}


def test_a_gang_that_kuberay_does_not_stop_is_stopped(server: Kubectl, account: Path) -> None:
    """Suspends its RayCluster and its submitter Job, and deletes its pods."""
    uid = server.run("get", "rayjob/job", "--namespace=team-a", "-o", "jsonpath={.metadata.uid}")
    cluster = create_object(server, child(NAME, uid))
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": META, "spec": {"template": {"spec": POD}}}
    submitter = create_object(server, job)
    server.create([{"apiVersion": "v1", "kind": "Pod", "metadata": META, "spec": POD}])
    try:
        perform(account, Overwrite(kinds.RAY_CLUSTERS, KEY, SUSPENDED, cluster["metadata"]["uid"]))
        perform(account, Overwrite(kinds.BATCH_JOBS, KEY, SUSPENDED, submitter["metadata"]["uid"]))
        perform(account, Delete(kinds.PODS, KEY, grace_s=30))
        for kind in ("raycluster", "job"):
            target = (f"{kind}/{NAME}", "--namespace=team-a")
            assert server.run("get", *target, "-o", "jsonpath={.spec.suspend}") == "true"
        assert server.run("get", f"pod/{NAME}", "--namespace=team-a", "--ignore-not-found") == ""
    finally:
        server.run("delete", f"raycluster/{NAME}", f"job/{NAME}", "--namespace=team-a")


def test_a_workload_is_deleted_by_its_uid(server: Kubectl, account: Path) -> None:
    """Another one of the same name is kept."""
    spec = {"queueName": "user-queue", "podSets": [{"name": "main", "count": 1, "template": {"spec": POD}}]}
    manifest = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": META, "spec": spec}
    workload = create_object(server, manifest)
    target = (f"workload/{NAME}", "--namespace=team-a", "--ignore-not-found")
    with pytest.raises(WriteError, match="the UID in the precondition") as refused:
        perform(account, Delete(kinds.WORKLOADS, KEY, uid="another"))
    assert refused.value.stale
    assert server.run("get", *target) != ""
    perform(account, Delete(kinds.WORKLOADS, KEY, uid=workload["metadata"]["uid"]))
    assert server.run("get", *target) == ""


@pytest.mark.parametrize("name", [ETA_ANNOTATION, GROWTH_ETA_ANNOTATION])
def test_an_estimate_is_written_on_a_queued_job(server: Kubectl, account: Path, name: str) -> None:
    target = ("rayjob/job", "--namespace=team-a")
    uid = server.run("get", *target, "-o", "jsonpath={.metadata.uid}")
    body = {"metadata": {"annotations": {name: "{}"}}}
    perform(account, Overwrite(kinds.RAY_JOBS, "team-a/job", body, uid))
    stored = json.loads(server.run("get", *target, "-o", "json"))
    assert stored["metadata"]["annotations"][name] == "{}"
