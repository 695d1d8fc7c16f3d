"""Tests which users may label pods and Jobs as a Workload's, by stack local's policies."""

from typing import NamedTuple

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, Target, User
from tests.stacks.ray_requests import ADMIN, refusal, refused_patch

UID = "muster.dev/workload-uid"
MESSAGE = f"the label {UID} is set by admission only, as pods with it hold quota: remove it"
# May write pods and Jobs, like users of other platforms in the cluster.
CAROL: User = ("--as=carol@example.com", "--as-group=pod-makers", "--as-group=system:authenticated")
JOBS: User = (
    "--as=system:serviceaccount:kube-system:job-controller",
    "--as-group=system:serviceaccounts:kube-system",
)
NAMESPACE = "team-b"
PODS = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}


def pod(*, labelled: bool = True, name: str = "new") -> Manifest:
    labels = {"labels": {UID: "theirs"}} if labelled else {}
    metadata = {"name": name, "namespace": NAMESPACE, **labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": PODS}


def job(*, labelled: bool = True, owned: bool = False) -> Manifest:
    template = {"metadata": pod(labelled=labelled)["metadata"], "spec": PODS}
    template["metadata"] = {key: value for key, value in template["metadata"].items() if key == "labels"}
    metadata: Manifest = {"name": "new", "namespace": NAMESPACE}
    if owned:
        owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "job", "uid": "1", "controller": True}
        metadata["ownerReferences"] = [owner]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


@pytest.fixture(scope="module")
def shared(server: Kubectl) -> Kubectl:
    """Adds a role that may create pods, which no team has, and pods with and without the label."""
    rules = [{"apiGroups": ["", "batch"], "resources": ["pods", "pods/status", "jobs"], "verbs": ["*"]}]
    rbac = "rbac.authorization.k8s.io"
    metadata = {"name": "pod-makers"}
    role = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "pod-makers"},
        "subjects": [{"kind": "Group", "apiGroup": rbac, "name": "pod-makers"}],
    }
    server.create([role, binding, pod(name="theirs"), pod(labelled=False, name="plain")])
    return server


class Creation(NamedTuple):
    name: str
    user: User
    manifest: Manifest
    message: str = ""

    def __str__(self) -> str:
        return self.name


CREATIONS = [
    Creation("a user's pod", CAROL, pod(), MESSAGE),
    Creation("a user's pod without it", CAROL, pod(labelled=False)),
    Creation("a user's Job", CAROL, job(), MESSAGE),
    Creation("a user's Job without it", CAROL, job(labelled=False)),
    Creation("KubeRay's pod", ADMIN, pod()),
    Creation("KubeRay's Job", ADMIN, job(owned=True)),
    Creation("a Job's pod by the Job controller", JOBS, pod()),
]


@pytest.mark.parametrize("case", CREATIONS, ids=str)
def test_created_pods_and_jobs_are_labelled_by_kuberay_only(shared: Kubectl, case: Creation) -> None:
    assert refusal(shared, case.user, case.manifest) == case.message


@pytest.mark.parametrize(
    ("name", "labels", "subresource", "message"),
    [
        pytest.param("plain", {UID: "theirs"}, "", MESSAGE, id="set"),
        pytest.param("theirs", {UID: "another"}, "", MESSAGE, id="changed"),
        pytest.param("theirs", {UID: None}, "", MESSAGE, id="removed"),
        pytest.param("plain", {UID: "theirs"}, "status", MESSAGE, id="set by the status"),
        pytest.param("theirs", {"team": "b"}, "", "", id="another label"),
    ],
)
def test_users_cannot_change_the_label_of_pods(
    shared: Kubectl, name: str, labels: dict[str, str | None], subresource: str, message: str
) -> None:
    target = Target("v1", "pod", name, NAMESPACE, subresource)
    assert refused_patch(shared, CAROL, target, {"metadata": {"labels": labels}}) == message
