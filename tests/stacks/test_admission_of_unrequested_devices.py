"""Ways to accelerators without a request for them, under stack local's policies, with the role `edit`: their
nodes, devices that an annotation adds, and objects that only administrators create."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from components.admission.unrequested import FORMER_BOOKED, INJECTED_PREFIXES
from muster.cluster.jobs.kinds import JOB_KINDS
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from tests.stacks.accelerator_requests import (
    ALLOWED,
    DAVE,
    MAKERS,
    PLAIN,
    PODS,
    REMEDY,
    SUBJECT,
    allowed_by_name,
    container,
    pod,
)
from tests.stacks.autoscaler_rights import account, existing, granted
from tests.stacks.dry_runs import EFFECT_SECONDS_MAX, Manifest, Patch, Target, User, expect_refusal
from tests.stacks.job_requests import NAMESPACE
from tests.stacks.ray_requests import ADMIN, CONTROLLER, QUEUE, refusal, refused_patch

GPU = "nvidia.com/gpu"
QUEUEABLE = [kind.name for kind in JOB_KINDS]
OFF = "nodes with accelerators have a quota, but this {} would use them outside of it"
REQUESTED = "pods get the devices that they request"
BOOKED = "autoscaling.x-k8s.io/consume-provisioning-request"


def tolerating(**toleration: str) -> Manifest:
    return {**PLAIN, "tolerations": [toleration]}


PLACED = {
    "GPUs": tolerating(key=GPU, operator="Exists"),
    "GPUs by value": tolerating(key=GPU, operator="Equal", value="present", effect="NoSchedule"),
    "TPUs": tolerating(key="google.com/tpu", operator="Exists", effect="NoSchedule"),
    "all taints": tolerating(operator="Exists"),
    "a node": {**PLAIN, "nodeName": "gpu-node"},
}
ELSEWHERE = {
    "another taint": tolerating(key="cloud.google.com/gke-spot", operator="Exists"),
    "nodes that fail": tolerating(operator="Exists", effect="NoExecute"),
    "a node selector": {**PLAIN, "nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-l4"}},
}
INJECTED = (*(f"{prefix}x" for prefix in INJECTED_PREFIXES), "devices.gke.io/container.main")
WHOLE_NODE = container(resources={"limits": {GPU: "8"}, "requests": {GPU: "8"}})


def annotated(manifest: Manifest, key: str) -> Manifest:
    """Adds the annotation to all pods of the manifest."""
    result = copy.deepcopy(manifest)
    for template in _templates(result):
        template.setdefault("metadata", {}).setdefault("annotations", {})[key] = "x"
    return result


def _templates(value: Any) -> Iterator[Manifest]:
    if isinstance(value, dict):
        if "containers" in (value.get("spec") or {}):
            yield value
        for child in value.values():
            yield from _templates(child)
    elif isinstance(value, list):
        for child in value:
            yield from _templates(child)


def queued(manifest: Manifest) -> Manifest:
    suspendable = {"shutdownAfterJobFinishes": True} if manifest["kind"] == "RayJob" else {}
    metadata = {**manifest["metadata"], "labels": {QUEUE: "user-queue"}}
    return {**manifest, "metadata": metadata, "spec": {**manifest["spec"], **suspendable}}


@pytest.fixture(scope="module")
def cluster_of_users(server: Kubectl) -> Iterator[Kubectl]:
    server.create([pod("running", PLAIN)])
    try:
        with allowed_by_name(server):
            yield server
    finally:
        server.run("delete", "pod", "running", f"--namespace={NAMESPACE}", "--wait=false")


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("place", PLACED)
def test_nodes_with_accelerators_need_a_queue(cluster_of_users: Kubectl, kind: str, place: str) -> None:
    refused = refusal(cluster_of_users, DAVE, MAKERS[kind]("other", PLACED[place]))
    assert OFF.format(kind) in refused
    assert REMEDY in refused


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("place", ELSEWHERE)
def test_other_nodes_need_none(cluster_of_users: Kubectl, kind: str, place: str) -> None:
    assert refusal(cluster_of_users, DAVE, MAKERS[kind]("other", ELSEWHERE[place])) == ""


@pytest.mark.parametrize("kind", MAKERS)
def test_named_objects_may_use_these_nodes(cluster_of_users: Kubectl, kind: str) -> None:
    assert refusal(cluster_of_users, DAVE, MAKERS[kind](ALLOWED, PLACED["GPUs"])) == ""


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("key", [BOOKED, *FORMER_BOOKED])
def test_nodes_of_gangs_are_not_used(cluster_of_users: Kubectl, kind: str, key: str) -> None:
    manifest = annotated(MAKERS[kind]("other", PLAIN), key)
    assert OFF.format(kind) in refusal(cluster_of_users, DAVE, manifest)


@pytest.mark.parametrize("kind", QUEUEABLE)
@pytest.mark.parametrize("key", [BOOKED, *FORMER_BOOKED])
def test_queued_jobs_do_not_choose_the_nodes_of_others(
    cluster_of_users: Kubectl, kind: str, key: str
) -> None:
    manifest = queued(annotated(MAKERS[kind]("other", PODS["a GPU"]), key))
    assert "are set by its admission: remove them" in refusal(cluster_of_users, DAVE, manifest)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("key", INJECTED)
def test_annotations_add_no_devices(cluster_of_users: Kubectl, kind: str, key: str) -> None:
    manifest = annotated(MAKERS[kind]("other", PLAIN), key)
    assert REQUESTED in refusal(cluster_of_users, DAVE, manifest)


@pytest.mark.parametrize("kind", QUEUEABLE)
@pytest.mark.parametrize("key", INJECTED)
def test_annotations_add_no_devices_to_queued_jobs(cluster_of_users: Kubectl, kind: str, key: str) -> None:
    """A pod with one GPU would use the others of its node."""
    manifest = queued(annotated(MAKERS[kind]("other", PODS["a GPU"]), key))
    assert REQUESTED in refusal(cluster_of_users, DAVE, manifest)


@pytest.mark.parametrize("kind", QUEUEABLE)
def test_pods_with_all_gpus_of_a_node_use_gpudirect(cluster_of_users: Kubectl, kind: str) -> None:
    spec = {"containers": [WHOLE_NODE, container("tcpxo-daemon")]}
    manifest = queued(MAKERS[kind]("other", spec))
    for template in _templates(manifest):
        if len(template["spec"]["containers"]) == 2:
            key = "devices.gke.io/container.tcpxo-daemon"
            template["metadata"] = {"annotations": {key: "- path: /dev/nvidia0"}}
    assert refusal(cluster_of_users, DAVE, manifest) == ""


def test_numbers_of_gpus_count_too(cluster_of_users: Kubectl) -> None:
    """Custom resources keep a number as it is written."""
    amounts = {GPU: 8}
    spec = {"containers": [container(resources={"limits": amounts, "requests": amounts})]}
    manifest = queued(MAKERS["RayCluster"]("other", spec))
    (workers,) = (t for t in _templates(manifest) if "resources" in t["spec"]["containers"][0])
    workers["metadata"] = {"annotations": {"devices.gke.io/container.main": "x"}}
    assert refusal(cluster_of_users, DAVE, manifest) == ""


TOLERATES = {"op": "add", "path": "/spec/tolerations/-", "value": {"key": GPU, "operator": "Exists"}}
LATER: dict[str, tuple[Patch, str]] = {
    "a toleration": ([TOLERATES], OFF.format("Pod")),
    "capacity": ({"metadata": {"annotations": {BOOKED: "x"}}}, OFF.format("Pod")),
    "devices": ({"metadata": {"annotations": {INJECTED[-1]: "x"}}}, REQUESTED),
}


@pytest.mark.parametrize("name", LATER)
def test_pods_get_none_of_these_later(cluster_of_users: Kubectl, name: str) -> None:
    patch, message = LATER[name]
    assert message in refused_patch(cluster_of_users, DAVE, Target("v1", "Pod", "running", NAMESPACE), patch)


def test_other_annotations_of_pods_change(cluster_of_users: Kubectl) -> None:
    patch: Patch = {"metadata": {"annotations": {"note": "ours"}}}
    assert refused_patch(cluster_of_users, DAVE, Target("v1", "Pod", "running", NAMESPACE), patch) == ""


@pytest.mark.parametrize("name", ["daemon-set-controller", "job-controller"])
def test_controllers_create_pods_for_checked_objects(cluster_of_users: Kubectl, name: str) -> None:
    assert refusal(cluster_of_users, account(name, "kube-system"), pod("other", PLACED["GPUs"])) == ""


DEVICES = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpus", "count": 8}}]}}
CLAIMS: dict[str, Manifest] = {
    "ResourceClaim": {"apiVersion": "resource.k8s.io/v1", "spec": DEVICES},
    "ResourceClaimTemplate": {"apiVersion": "resource.k8s.io/v1", "spec": {"spec": DEVICES}},
}
COUNTED = "counts the claims that administrators declare"
EDITOR = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "dave-edits", "namespace": NAMESPACE},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
    "subjects": [SUBJECT],
}


def claim(kind: str) -> Manifest:
    return {"kind": kind, "metadata": {"name": "gpu", "namespace": NAMESPACE}, **CLAIMS[kind]}


@pytest.mark.parametrize("kind", CLAIMS)
def test_users_create_no_claims(server: Kubectl, kind: str) -> None:
    """Kubernetes' role `edit` allows it."""
    with existing(server, [EDITOR]):
        wait_until("the role", lambda: COUNTED in refusal(server, DAVE, claim(kind)), EFFECT_SECONDS_MAX)


@pytest.mark.parametrize("kind", CLAIMS)
def test_administrators_create_claims(server: Kubectl, kind: str) -> None:
    assert refusal(server, ADMIN, claim(kind)) == ""


@pytest.mark.parametrize(
    "user",
    [account("resource-claim-controller", "kube-system"), ("--as=system:kube-scheduler",)],
    ids=["the controller", "the scheduler"],
)
def test_kubernetes_creates_the_claims_of_pods(server: Kubectl, user: User) -> None:
    assert refusal(server, user, claim("ResourceClaim")) == ""


REQUEST: Manifest = {
    "apiVersion": "autoscaling.x-k8s.io/v1",
    "kind": "ProvisioningRequest",
    "metadata": {"name": "nodes", "namespace": NAMESPACE},
    "spec": {
        "provisioningClassName": "queued-provisioning.gke.io",
        "podSets": [{"count": 8, "podTemplateRef": {"name": "nodes"}}],
    },
}


@pytest.mark.parametrize(
    ("user", "message"),
    [
        pytest.param(DAVE, "nodes are provisioned for jobs that have quota", id="a user"),
        pytest.param(CONTROLLER, "", id="Muster"),
        pytest.param(ADMIN, "", id="an administrator"),
    ],
)
def test_nodes_are_provisioned_by_the_engine(server: Kubectl, user: User, message: str) -> None:
    rules = [{"apiGroups": ["autoscaling.x-k8s.io"], "resources": ["*"], "verbs": ["*"]}]
    with existing(server, granted("dave-provisions", rules, SUBJECT)):
        wait_until(
            "the right",
            lambda: "is forbidden: User" not in refusal(server, user, REQUEST),
            EFFECT_SECONDS_MAX,
        )
        expect_refusal(refusal(server, user, REQUEST), message)
