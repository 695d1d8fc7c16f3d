"""Autoscaled RayClusters: the service accounts that get KubeRay's Role, and what these may change."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.autoscaler_rights import account, by_kuberay, existing, granted
from tests.stacks.dry_runs import Manifest, Patch, Target
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    child,
    outside_queues,
    raycluster,
    rayjob,
    rayservice,
    refusal,
    refused_patch,
    unqueued,
)

CHOSEN = "depends on whether it is autoscaled"
SHARED = "lets the service account of an autoscaled head change pods"
LONG, TAKEN = "characters, as KubeRay derives the name of a service account", "can't be named default"
SPECS = {"RayJob": "rayClusterSpec", "RayCluster": "", "RayService": "rayClusterConfig"}


def without_queue(make: Callable[..., Manifest]) -> Callable[[str], Manifest]:
    return lambda name: outside_queues(make(name))


FREE_JOB, FREE_SERVICE = without_queue(rayjob), without_queue(rayservice)


class Autoscaled(NamedTuple):
    make: Callable[[str], Manifest]
    message: str
    service_account: str | None = None
    name: str = "elastic"

    @property
    def manifest(self) -> Manifest:
        child_cluster = copy.deepcopy(self.make(self.name))
        path = SPECS[child_cluster["kind"]]
        spec = child_cluster["spec"][path] if path else child_cluster["spec"]
        spec["enableInTreeAutoscaling"] = True
        if self.service_account is not None:
            spec["headGroupSpec"]["template"]["spec"]["serviceAccountName"] = self.service_account
        return child_cluster


CREATIONS = {
    "a queued RayJob": Autoscaled(rayjob, ""),
    "a queued RayCluster": Autoscaled(raycluster, ""),
    "a queued RayCluster as default": Autoscaled(raycluster, SHARED, "default"),
    "a queued RayService": Autoscaled(rayservice, ""),
    "a RayCluster as default": Autoscaled(unqueued, SHARED, "default"),
    "a RayCluster as another one": Autoscaled(unqueued, SHARED, "other"),
    "a RayCluster as itself": Autoscaled(unqueued, "", "elastic"),
    "a RayCluster as nothing": Autoscaled(unqueued, "", ""),
    "a RayCluster": Autoscaled(unqueued, ""),
    "a RayCluster named default": Autoscaled(unqueued, TAKEN, name="default"),
    "a RayCluster whose account's name KubeRay cuts": Autoscaled(unqueued, LONG, name="x" * 51),
    "a RayCluster whose account's name it does not cut": Autoscaled(unqueued, "", name="x" * 50),
    "a RayJob as default": Autoscaled(FREE_JOB, SHARED, "default"),
    "a RayJob as itself": Autoscaled(FREE_JOB, SHARED, "elastic"),
    "a RayJob": Autoscaled(FREE_JOB, ""),
    "a RayJob whose cluster's account's name KubeRay cuts": Autoscaled(FREE_JOB, LONG, name="x" * 45),
    "a RayService as default": Autoscaled(FREE_SERVICE, SHARED, "default"),
    "a RayService": Autoscaled(FREE_SERVICE, ""),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_autoscaled_clusters_run_as_their_own_account(server: Kubectl, name: str) -> None:
    case = CREATIONS[name]
    error = refusal(server, ALICE, case.manifest)
    assert case.message in error
    assert bool(error) is bool(case.message)


def test_kuberay_creates_the_clusters_of_autoscaled_jobs(server: Kubectl) -> None:
    child_cluster = child("job-abcde")
    child_cluster["metadata"].pop("labels")
    child_cluster["spec"]["enableInTreeAutoscaling"] = True
    assert refusal(server, ADMIN, child_cluster) == ""


ON, OFF = ({"spec": {"enableInTreeAutoscaling": value}} for value in (True, False))
AS_DEFAULT = {"spec": {"headGroupSpec": {"template": {"spec": {"serviceAccountName": "default"}}}}}


def cluster(name: str) -> Target:
    return Target("ray.io/v1", "RayCluster", name, "team-a")


@pytest.mark.parametrize(
    ("target", "patch", "message"),
    [
        pytest.param("notebook", ON, CHOSEN, id="a queued one is turned on"),
        pytest.param("queued", OFF, CHOSEN, id="a queued one is turned off"),
        pytest.param("as-default", ON, SHARED, id="one as default is turned on"),
        pytest.param("free", ON, "", id="one without an account is turned on"),
        pytest.param("elastic", AS_DEFAULT, SHARED, id="one that is on gets another account"),
        pytest.param("elastic", OFF, "", id="one is turned off"),
    ],
)
def test_updates_do_not_give_the_role_to_other_accounts(
    accounts: Kubectl, target: str, patch: Patch, message: str
) -> None:
    error = refused_patch(accounts, ALICE, cluster(target), patch)
    assert message in error
    assert bool(error) is bool(message)


BOT, ELASTIC = account("bot"), account("elastic")


@pytest.fixture(scope="module")
def accounts(server: Kubectl) -> Iterator[Kubectl]:
    """Adds an autoscaled RayCluster, another one whose pods run as default, and the Roles of both by KubeRay,
    as they may exist since before the policies; and an account to which an administrator granted more."""
    queued = Autoscaled(raycluster, "", name="queued").manifest
    for manifest in (Autoscaled(unqueued, "").manifest, unqueued("as-default"), queued):
        server.run("create", "-f", "-", *ALICE, stdin=json.dumps(manifest))
    patch = json.dumps(AS_DEFAULT)
    server.run("patch", "raycluster/as-default", "--namespace=team-a", "--type=merge", f"--patch={patch}")
    bot = [{"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["*"]}]
    subject = {"kind": "ServiceAccount", "name": "bot", "namespace": "team-a"}
    names = {"elastic": "elastic", "as-default": "default", "queued": "queued"}
    rights = [right for name, account_name in names.items() for right in by_kuberay(name, account_name)]
    with existing(server, [*rights, *granted("bot", bot, subject)]):
        yield server


GROUP = "/spec/workerGroupSpecs/0"


def put(path: str, value: Any) -> Patch:
    return [{"op": "add", "path": path, "value": value}]


OWN, SCALES = "changes its own RayCluster only", "changes only replicas and scaleStrategy"
SIZED = "has at most 5000 workers"
WRITES = {
    "replicas": (put(f"{GROUP}/replicas", 3), ""),
    "workers to delete": (put(f"{GROUP}/scaleStrategy", {"workersToDelete": ["w"]}), ""),
    "too many replicas": (put(f"{GROUP}/replicas", 60_000_000), SIZED),
    "a larger maximum": (put(f"{GROUP}/maxReplicas", 300), SCALES),
    "more hosts": (put(f"{GROUP}/numOfHosts", 3), SCALES),
    "another image": (put(f"{GROUP}/template/spec/containers/0/image", "mine"), SCALES),
    "another account": (put(f"{GROUP}/template/spec/serviceAccountName", "other"), SCALES),
    "another head": (put("/spec/headGroupSpec/template/spec/containers/0/image", "mine"), SCALES),
    "a field of the cluster": (put("/spec/rayVersion", "2.50.0"), SCALES),
    "a field more": (put("/spec/headServiceAnnotations", {"note": "mine"}), SCALES),
    "no groups": ([{"op": "remove", "path": "/spec/workerGroupSpecs/0"}], SCALES),
    "a finalizer": ({"metadata": {"finalizers": ["a.b/c"]}}, SCALES),
    "a label": ({"metadata": {"labels": {"team": "b"}}}, SCALES),
    "an annotation": ({"metadata": {"annotations": {"ray.io/overwrite-container-cmd": "true"}}}, SCALES),
}


@pytest.mark.parametrize("name", WRITES)
def test_an_autoscaler_only_scales_its_own_cluster(accounts: Kubectl, name: str) -> None:
    patch, message = WRITES[name]
    error = refused_patch(accounts, ELASTIC, cluster("elastic"), patch)
    assert message in error
    assert bool(error) is bool(message)


LIMITED = "keeps its worker groups and their minReplicas, maxReplicas, numOfHosts"
GATE = {"name": "muster.dev/growth"}
WRITES_OF_QUEUED = {
    "replicas": (put(f"{GROUP}/replicas", 3), ""),
    "workers to delete": (put(f"{GROUP}/scaleStrategy", {"workersToDelete": ["w"]}), ""),
    "a larger maximum": (put(f"{GROUP}/maxReplicas", 300), LIMITED),
    "a smaller minimum": (put(f"{GROUP}/minReplicas", 0), LIMITED),
    "more hosts": (put(f"{GROUP}/numOfHosts", 3), LIMITED),
    "no groups": ([{"op": "remove", "path": "/spec/workerGroupSpecs/0"}], LIMITED),
    "a suspended group": (put(f"{GROUP}/suspend", True), LIMITED),
    "a gate": (put(f"{GROUP}/template/spec/schedulingGates", [GATE]), "placement, priority and shutdown"),
}


@pytest.mark.parametrize("name", WRITES_OF_QUEUED)
def test_a_tenant_changes_only_the_replicas_of_a_queued_cluster(accounts: Kubectl, name: str) -> None:
    patch, message = WRITES_OF_QUEUED[name]
    error = refused_patch(accounts, ALICE, cluster("queued"), patch)
    assert message in error
    assert bool(error) is bool(message)


@pytest.mark.parametrize("name", ["replicas", "workers to delete", "a larger maximum"])
def test_the_autoscaler_of_a_queued_cluster_scales_it(accounts: Kubectl, name: str) -> None:
    patch, message = WRITES_OF_QUEUED[name]
    error = refused_patch(accounts, account("queued"), cluster("queued"), patch)
    assert bool(error) is bool(message)


@pytest.mark.parametrize("service_account", ["elastic", "default"])
@pytest.mark.parametrize("target", ["free", "notebook", "as-default"])
def test_an_autoscaler_changes_no_other_cluster(accounts: Kubectl, service_account: str, target: str) -> None:
    """Least of all that whose head runs as the namespace's default account: so do the pods of others."""
    patch = put("/metadata/annotations", {"note": "mine"})
    assert OWN in refused_patch(accounts, account(service_account), cluster(target), patch)


def test_an_account_with_an_administrators_rights_keeps_them(accounts: Kubectl) -> None:
    assert refused_patch(accounts, BOT, cluster("free"), put("/metadata/labels", {"team": "b"})) == ""
