"""Pods that hold a Workload's quota: what may be changed about them, and by which identities."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.autoscaler_rights import account, by_kuberay, existing, granted
from tests.stacks.dry_runs import Manifest, Patch, Target, User, expect_refusal
from tests.stacks.ray_requests import (
    ADMIN,
    CONTROLLER,
    refusal,
    refused_deletion,
    refused_patch,
    refused_post,
)

SUBRESOURCES = ("pods/status", "pods/resize", "pods/eviction")
UID, GATE = "muster.dev/workload-uid", "muster.dev/growth"
NODE, CLUSTER = "of-kubelet", "scaled"
# A tenant's container, by the Role that KubeRay creates for an autoscaled RayCluster of that name.
WORKLOAD = account(CLUSTER)
# Has rights on the pods of one namespace, by an administrator's Role.
DAVE: User = ("--as=dave@example.com", "--as-group=system:authenticated")
KUBELET: User = (f"--as=system:node:{NODE}", "--as-group=system:nodes", "--as-group=system:authenticated")


def system(name: str) -> User:
    return account(name, "kube-system")


COLLECTOR, JOBS = system("generic-garbage-collector"), system("job-controller")
NODES, SCHEDULER = (
    system("node-controller"),
    ("--as=system:kube-scheduler", "--as-group=system:authenticated"),
)

LABELS = {UID: "theirs", "ray.io/cluster": CLUSTER, "ray.io/group": "gpu", "team": "a"}
OWNER = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": CLUSTER, "uid": "1", "controller": True}


def ray_container() -> Manifest:
    return {"name": "ray", "image": "ray", "resources": sized("1", "1Gi")}


def gang_pod(name: str, **spec: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "labels": dict(LABELS),
            "annotations": {"kueue.x-k8s.io/workload": "w"},
            "finalizers": ["example.com/theirs"],
        },
        "spec": {"restartPolicy": "Never", "containers": [ray_container()], **spec},
    }


def sized(cpu: str, memory: str, **more: str) -> dict[str, dict[str, str]]:
    return {"requests": {"cpu": cpu, "memory": memory, **more}, "limits": {"cpu": "2", "memory": "2Gi"}}


@pytest.fixture(scope="module")
def pods(server: Kubectl) -> Iterator[Kubectl]:
    """Adds pods of a gang, one of them on a node, and identities with rights on pods."""
    dave = [{"apiGroups": [""], "resources": ["pods", *SUBRESOURCES], "verbs": ["*"]}]
    subject = {"kind": "User", "name": "dave@example.com", "apiGroup": "rbac.authorization.k8s.io"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}, "spec": {"unschedulable": True}}
    bound = gang_pod("bound", nodeName=NODE)
    plain, bound_plain = gang_pod("plain-pod"), gang_pod("bound-plain", nodeName=NODE)
    for manifest in (plain, bound_plain):
        del manifest["metadata"]["labels"][UID]
    others = gang_pod("of-another-cluster")
    others["metadata"]["labels"] = {"ray.io/cluster": "other"}
    gated = [
        gang_pod(name, schedulingGates=[{"name": GATE}], nodeSelector={"pool": "l4"})
        for name in ("gated", "gated-queued", "gated-near", "gated-too")
    ]
    resizable = gang_pod("resizable", containers=[ray_container(), {**ray_container(), "name": "sidecar"}])
    resizable["metadata"]["annotations"] |= {"muster.dev/max-cpu": "1500m", "muster.dev/max-memory": "1536Mi"}
    server.create([node, gang_pod("mine"), resizable, *gated, bound, bound_plain, plain, others])
    with existing(server, [*by_kuberay(CLUSTER, CLUSTER), *granted("dave", dave, subject)]):
        yield server


class Change(NamedTuple):
    """A patch of a pod, and a part of the message that refuses it to users."""

    patch: Patch
    message: str
    subresource: str = ""


def meta(**fields: Any) -> Patch:
    return {"metadata": fields}


def resized(resources: dict[str, dict[str, str]]) -> Patch:
    return {"spec": {"containers": [{"name": "ray", "image": "ray", "resources": resources}]}}


KEPT = (
    "only KubeRay, the Job controller, the JobSet controller, the LeaderWorkerSet controller and Kubernetes "
    "may change its owner"
)
OWN_ONLY = "changes pods of its own RayCluster,"
RUNS, STATUS, GROWS = (
    "is immutable, as quota is reserved for it",
    "determines whether it holds quota",
    "resize it to lower requests",
)
CHANGES = {
    "an owner": Change(meta(ownerReferences=[OWNER]), KEPT),
    "a finalizer": Change(meta(finalizers=["example.com/theirs", "tenant.example/mine"]), KEPT),
    "a finalizer instead of another": Change(meta(finalizers=["tenant.example/mine"]), KEPT),
    "no finalizer": Change(meta(finalizers=None), KEPT),
    "no label of its cluster": Change(meta(labels={"ray.io/cluster": None}), KEPT),
    "another label of KubeRay": Change(meta(labels={"ray.io/serve": "true"}), KEPT),
    "another group": Change(meta(labels={"ray.io/group": "other"}), KEPT),
    "a label of Kueue": Change(meta(labels={"kueue.x-k8s.io/podset": "head"}), KEPT),
    "an annotation of Kueue": Change(meta(annotations={"kueue.x-k8s.io/workload": "other"}), KEPT),
    "a larger maximum": Change(meta(annotations={"muster.dev/max-cpu": "8"}), KEPT),
    "an annotation of admission": Change(meta(annotations={"muster.dev/written-out": "true"}), KEPT),
    "no UID": Change(meta(labels={UID: None}), UID),
    "another UID": Change(meta(labels={UID: "other"}), UID),
    "tolerations": Change(
        [{"op": "add", "path": "/spec/tolerations/-", "value": {"operator": "Exists"}}], RUNS
    ),
    "another image": Change([{"op": "replace", "path": "/spec/containers/0/image", "value": "mine"}], RUNS),
    "a deadline": Change({"spec": {"activeDeadlineSeconds": 1}}, RUNS),
    "an ended phase": Change({"status": {"phase": "Succeeded"}}, STATUS, "status"),
    "a finalizer by its status": Change(meta(finalizers=["tenant.example/mine"]), KEPT, "status"),
    "a label by its status": Change(meta(labels={"ray.io/cluster": "x"}), KEPT, "status"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_users_leave_pods_of_gangs_as_they_are(pods: Kubectl, name: str) -> None:
    change = CHANGES[name]
    target = Target("v1", "Pod", "mine", "team-a", change.subresource)
    assert change.message in refused_patch(pods, DAVE, target, change.patch)


@pytest.mark.parametrize("name", [name for name, change in CHANGES.items() if not change.subresource])
def test_containers_leave_pods_of_gangs_as_they_are(pods: Kubectl, name: str) -> None:
    """The Role of an autoscaled cluster may patch all pods of the namespace."""
    change = CHANGES[name]
    error = refused_patch(pods, WORKLOAD, Target("v1", "Pod", "mine", "team-a"), change.patch)
    assert any(
        message in error for message in (change.message, OWN_ONLY, "only KubeRay changes owner references")
    )


NOTES = meta(labels={"team": "b"}, annotations={"note": "ours"})


@pytest.mark.parametrize(
    ("user", "pod", "message"),
    [
        pytest.param(DAVE, "mine", "", id="a user"),
        pytest.param(WORKLOAD, "mine", "", id="a container of its cluster"),
        pytest.param(WORKLOAD, "plain-pod", "", id="a container of its cluster, outside all queues"),
        pytest.param(WORKLOAD, "of-another-cluster", OWN_ONLY, id="a container of another cluster"),
        pytest.param(account("stranger"), "mine", "forbidden", id="an account without rights"),
    ],
)
def test_other_labels_and_annotations_may_change(pods: Kubectl, user: User, pod: str, message: str) -> None:
    error = refused_patch(pods, user, Target("v1", "Pod", pod, "team-a"), NOTES)
    assert message in error
    assert bool(error) is bool(message)


@pytest.mark.parametrize(
    "patch",
    [meta(ownerReferences=[OWNER]), meta(finalizers=["a.b/c"]), meta(labels={"ray.io/cluster": "other"})],
)
def test_containers_do_not_move_pods_outside_all_queues(pods: Kubectl, patch: Patch) -> None:
    assert refused_patch(pods, WORKLOAD, Target("v1", "Pod", "plain-pod", "team-a"), patch)


class Sizes(NamedTuple):
    """Resources that the container is resized to from 1 CPU and 1Gi, and whether that is refused."""

    resources: dict[str, dict[str, str]]
    refused: bool


SIZES = {
    "more CPU": Sizes(sized("1500m", "1Gi"), True),
    "a little more CPU": Sizes(sized("1001m", "1Gi"), True),
    "more memory": Sizes(sized("1", "1025Mi"), True),
    "less CPU, more memory": Sizes(sized("500m", "2Gi"), True),
    "a higher limit": Sizes({"limits": {"cpu": "3"}}, True),
    "less": Sizes(sized("500m", "512Mi"), False),
    "the same in other words": Sizes(sized("1000m", "1024Mi"), False),
}


@pytest.mark.parametrize("user", [DAVE, WORKLOAD], ids=["a user", "a container"])
@pytest.mark.parametrize("name", SIZES)
def test_pods_of_gangs_are_only_resized_to_less(pods: Kubectl, user: User, name: str) -> None:
    resources, refused = SIZES[name]
    operations = [
        {"op": "replace", "path": f"/spec/containers/0/resources/{kind}/{key}", "value": amount}
        for kind, amounts in resources.items()
        for key, amount in amounts.items()
    ]
    error = refused_patch(pods, user, Target("v1", "Pod", "mine", "team-a", "resize"), operations)
    assert (GROWS in error) is refused, error
    assert bool(error) is refused


def resize(container: int, resources: dict[str, dict[str, str]]) -> list[dict[str, str]]:
    path = f"/spec/containers/{container}/resources"
    return [
        {"op": "replace", "path": f"{path}/{kind}/{key}", "value": amount}
        for kind, amounts in resources.items()
        for key, amount in amounts.items()
    ]


MAXIMA = {
    "to its maximum": (resize(0, {"requests": {"cpu": "1500m", "memory": "1536Mi"}}), False),
    "to less than its maximum": (resize(0, {"requests": {"cpu": "1200m"}}), False),
    "to more CPU than its maximum": (resize(0, {"requests": {"cpu": "1501m"}}), True),
    "to more memory than its maximum": (resize(0, {"requests": {"memory": "1537Mi"}}), True),
    "to a limit above its maximum": (resize(0, {"limits": {"cpu": "2001m"}}), True),
    "another container": (resize(1, {"requests": {"cpu": "1500m"}}), True),
    "another container to less": (resize(1, {"requests": {"cpu": "500m"}}), False),
}


@pytest.mark.parametrize("user", [DAVE, WORKLOAD], ids=["a user", "a container"])
@pytest.mark.parametrize("name", MAXIMA)
def test_pods_of_gangs_are_resized_up_to_what_is_counted(pods: Kubectl, user: User, name: str) -> None:
    """Quota is reserved for the maximum in the annotations that admission sets; limits are not counted."""
    operations, refused = MAXIMA[name]
    error = refused_patch(pods, user, Target("v1", "Pod", "resizable", "team-a", "resize"), operations)
    assert (GROWS in error) is refused, error
    assert bool(error) is refused


def test_ray_writes_the_state_of_its_resizes(pods: Kubectl) -> None:
    status = meta(annotations={"ray.io/ippr-status": '{"resizing-at": 1}'})
    assert refused_patch(pods, WORKLOAD, Target("v1", "Pod", "resizable", "team-a"), status) == ""


def test_ephemeral_containers_have_no_resources(pods: Kubectl) -> None:
    """So they need no quota. Kubernetes itself refuses these."""
    debug = {"name": "debug", "image": "busybox", "resources": {"requests": {"cpu": "8"}}}
    patch = [{"op": "add", "path": "/spec/ephemeralContainers", "value": [debug]}]
    target = Target("v1", "Pod", "mine", "team-a", "ephemeralcontainers")
    assert "cannot be set for an Ephemeral Container" in refused_patch(pods, ADMIN, target, patch)


def test_a_binding_claims_no_quota(pods: Kubectl) -> None:
    """A pod takes the labels of its Binding, which only the scheduler and administrators' programs create."""
    rules = [{"apiGroups": [""], "resources": ["bindings"], "verbs": ["create"]}]
    subject = {"kind": "User", "name": "binder@example.com", "apiGroup": "rbac.authorization.k8s.io"}
    binder: User = ("--as=binder@example.com", "--as-group=system:authenticated")
    with existing(pods, granted("binder", rules, subject)):
        assert UID in refusal(pods, binder, binding({UID: "theirs"}))
        assert UID not in refusal(pods, binder, binding({"team": "a"}))


def binding(labels: dict[str, str]) -> Manifest:
    metadata = {"name": "plain-pod", "namespace": "team-a", "labels": labels}
    target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}


ENDED = {"status": {"phase": "Succeeded"}}
SYSTEM = {
    "the garbage collector removes owners": (COLLECTOR, "mine", meta(ownerReferences=None), ""),
    "the garbage collector removes finalizers": (COLLECTOR, "mine", meta(finalizers=None), ""),
    "the Job controller removes its finalizer": (JOBS, "mine", meta(finalizers=None), ""),
    "KubeRay labels": (ADMIN, "mine", meta(labels={"ray.io/serve": "true"}), ""),
    "a kubelet writes the status": (KUBELET, "bound", ENDED, "status"),
    "the node controller writes the status": (NODES, "mine", ENDED, "status"),
    "the scheduler writes the status": (SCHEDULER, "mine", {"status": {"nominatedNodeName": "n"}}, "status"),
}


@pytest.mark.parametrize("name", SYSTEM)
def test_kubernetes_and_kuberay_do_their_work(pods: Kubectl, name: str) -> None:
    user, pod, patch, subresource = SYSTEM[name]
    assert refused_patch(pods, user, Target("v1", "Pod", pod, "team-a", subresource), patch) == ""


BY_CONTROLLER: dict[str, Any] = {
    "an annotation": NOTES,
    "a label": {"metadata": {"labels": {"team": "b"}}},
    "a finalizer": {"metadata": {"finalizers": ["a.b/c"]}},
    "another image": [{"op": "replace", "path": "/spec/containers/0/image", "value": "mine"}],
    "a deadline": [{"op": "add", "path": "/spec/activeDeadlineSeconds", "value": 5}],
}


@pytest.mark.parametrize("name", BY_CONTROLLER)
def test_the_controller_changes_only_gates_of_pods(pods: Kubectl, name: str) -> None:
    error = refused_patch(pods, CONTROLLER, Target("v1", "Pod", "mine", "team-a"), BY_CONTROLLER[name])
    assert "changes only the scheduling gates" in error


OPEN = [{"op": "remove", "path": "/spec/schedulingGates"}]


def test_only_the_controller_opens_the_gate_of_a_pod(pods: Kubectl) -> None:
    target = Target("v1", "Pod", "gated", "team-a")
    assert refused_patch(pods, CONTROLLER, target, OPEN) == ""
    assert "is immutable" in refused_patch(pods, DAVE, target, OPEN)


REQUEST = {
    "autoscaling.x-k8s.io/consume-provisioning-request": "dev-growth-gpu-1",
    "autoscaling.x-k8s.io/provisioning-class-name": "queued-provisioning.gke.io",
}
SELECTOR = {"autoscaling.gke.io/provisioning-request": "resize-1"}
PLACED: Patch = {
    "metadata": {"annotations": REQUEST},
    "spec": {"schedulingGates": None, "nodeSelector": SELECTOR},
}


def test_the_controller_opens_a_gate_with_the_nodes_of_a_request(pods: Kubectl) -> None:
    target = Target("v1", "Pod", "gated-queued", "team-a")
    assert refused_patch(pods, DAVE, target, PLACED)
    assert refused_patch(pods, CONTROLLER, target, PLACED) == ""


NEAR: Patch = {
    "metadata": {"annotations": {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}},
    "spec": {"schedulingGates": None, "nodeSelector": {"kubernetes.io/hostname": "x1"}},
}


def test_the_controller_opens_a_gate_in_a_domain_of_a_topology(pods: Kubectl) -> None:
    target = Target("v1", "Pod", "gated-near", "team-a")
    assert refused_patch(pods, DAVE, target, NEAR)
    assert refused_patch(pods, CONTROLLER, target, NEAR) == ""


BY_CONTROLLER_OF_GATED: dict[str, Any] = {
    "another annotation": (NOTES, "changes only the scheduling gates"),
    "another node": ({"spec": {"nodeSelector": {"pool": "h100"}}}, "nodeSelector"),
}


@pytest.mark.parametrize("name", BY_CONTROLLER_OF_GATED)
def test_the_controller_changes_nothing_else_of_a_gated_pod(pods: Kubectl, name: str) -> None:
    patch, message = BY_CONTROLLER_OF_GATED[name]
    assert message in refused_patch(pods, CONTROLLER, Target("v1", "Pod", "gated-too", "team-a"), patch)


SHRINKS: Patch = {"metadata": {"annotations": {"muster.dev/shrinks-at": "2026-11-26T14:20:31Z"}}}


def test_only_the_controller_announces_when_workers_go(pods: Kubectl) -> None:
    target = Target("v1", "Pod", "mine", "team-a")
    assert refused_patch(pods, CONTROLLER, target, SHRINKS) == ""
    assert "labels and annotations of" in refused_patch(pods, DAVE, target, SHRINKS)


def test_the_controller_does_not_move_a_pod_to_another_request(pods: Kubectl) -> None:
    """A pod with an open gate may run already."""
    error = refused_patch(
        pods, CONTROLLER, Target("v1", "Pod", "mine", "team-a"), {"metadata": {"annotations": REQUEST}}
    )
    assert "only of pods whose gate is closed" in error


def test_pods_are_still_created_by_kuberay_only(pods: Kubectl) -> None:
    assert UID in refusal(pods, DAVE, gang_pod("new"))


HELD = "a pod of a gang stops within 300 s, as another pod replaces it"
# the pod on a node, without which no pod has a grace period; the user; the seconds -> the refusal
GRACES: dict[str, tuple[str, User, int, str]] = {
    "a year": ("bound", DAVE, 31_536_000, HELD),
    "more than a template's": ("bound", DAVE, 301, HELD),
    "as much as a template's": ("bound", DAVE, 300, ""),
    "none": ("bound", DAVE, 0, ""),
    "by an administrator": ("bound", ADMIN, 31_536_000, ""),
    "of another pod": ("bound-plain", DAVE, 31_536_000, ""),
}


@pytest.mark.parametrize("name", GRACES)
def test_a_deleted_pod_is_not_kept_by_its_grace_period(pods: Kubectl, name: str) -> None:
    pod, user, seconds, message = GRACES[name]
    force = ("--force",) if seconds == 0 else ()
    options = (f"--grace-period={seconds}", "--namespace=team-a", "--dry-run=server", *force)
    expect_refusal(refused_deletion(pods, user, f"pod/{pod}", *options), message)


@pytest.mark.parametrize(("seconds", "message"), [(31_536_000, HELD), (300, ""), (None, "")])
def test_an_evicted_pod_is_not_kept_by_its_grace_period(
    pods: Kubectl, seconds: int | None, message: str
) -> None:
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "mine", "namespace": "team-a"},
        "deleteOptions": {} if seconds is None else {"gracePeriodSeconds": seconds},
    }
    expect_refusal(
        refused_post(pods, DAVE, "/api/v1/namespaces/team-a/pods/mine/eviction", eviction), message
    )
