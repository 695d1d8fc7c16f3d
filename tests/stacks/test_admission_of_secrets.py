"""Inline CSI volumes in a tenant that has secrets of Secret Manager, on the API server."""

import copy
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from components.admission.policies import AdmissionPolicies, AdmissionPoliciesArgs
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from tests.stacks.dry_runs import EFFECT_SECONDS_MAX, Manifest
from tests.stacks.job_requests import batch_job, job_set, leader_worker_set
from tests.stacks.ray_requests import ADMIN, ALICE, raycluster, rayjob, rayservice, refusal
from tests.unit.components.harness import declare
from tools.toolchain.steps import StepError

MAKERS = {
    "RayJob": rayjob,
    "RayCluster": raycluster,
    "RayService": rayservice,
    "Job": batch_job,
    "JobSet": job_set,
    "LeaderWorkerSet": leader_worker_set,
}
WITH, WITHOUT = "team-a-secrets", "team-a-no-secrets"
NAMESPACES = {
    WITH: ("muster.dev/tenant=true", "muster.dev/secrets=ray"),
    WITHOUT: ("muster.dev/tenant=true",),
}
KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
USER = "--user=alice@example.com"
DRIVER = "secrets-store-gke.csi.k8s.io"

ONLY_DRIVERS, READ_ONLY, IDENTITY = "use only the drivers", "csi.readOnly: true", "the tenant's identity"


def volume(driver: str = DRIVER, read_only: bool | None = True, **attributes: str) -> dict[str, Any]:
    csi: dict[str, Any] = {"driver": driver, "volumeAttributes": attributes}
    return {"name": "secrets", "csi": csi if read_only is None else {**csi, "readOnly": read_only}}


OWN = volume(secretProviderClass="secrets")
# Case -> the volume, the pod's ServiceAccount, and a part of the refusal.
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "the tenant's secrets": (OWN, "ray", ""),
    "another class": (volume(secretProviderClass="mine"), "ray", READ_ONLY),
    "no class": (volume(), "ray", READ_ONLY),
    "secrets to write": (volume(read_only=False, secretProviderClass="secrets"), "ray", READ_ONLY),
    "secrets to write by default": (volume(read_only=None, secretProviderClass="secrets"), "ray", READ_ONLY),
    "the account of others": (OWN, "trainer", IDENTITY),
    "the default account": (OWN, "", IDENTITY),
    "the open-source driver": (
        volume("secrets-store.csi.k8s.io", secretProviderClass="secrets"),
        "ray",
        ONLY_DRIVERS,
    ),
    "a driver of the node": (volume("hostpath.csi.k8s.io"), "ray", ONLY_DRIVERS),
    "a bucket by the pod's identity": (volume("gcsfuse.csi.storage.gke.io", None, bucketName="b"), "", ""),
    "an emptyDir": ({"name": "secrets", "emptyDir": {}}, "", ""),
}


def pod_spec(manifest: Manifest) -> dict[str, Any]:
    """Returns the pod spec of the workers, or of other jobs' pods."""
    spec: dict[str, Any] = manifest["spec"]
    if "replicatedJobs" in spec:
        spec = spec["replicatedJobs"][0]["template"]["spec"]
    if "leaderWorkerTemplate" in spec:
        spec = {"template": spec["leaderWorkerTemplate"]["workerTemplate"]}
    cluster = spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec
    template = (
        cluster["workerGroupSpecs"][0]["template"] if "workerGroupSpecs" in cluster else spec["template"]
    )
    pod: dict[str, Any] = template["spec"]
    return pod


def mounting(make: Callable[[], Manifest], mounted: dict[str, Any], account: str, namespace: str) -> Manifest:
    manifest = copy.deepcopy(make())
    manifest["metadata"]["namespace"] = namespace
    pod = pod_spec(manifest)
    pod.setdefault("volumes", []).append(mounted)
    pod.pop("serviceAccountName", None)
    if account:
        pod["serviceAccountName"] = account
    return manifest


def policies() -> Iterator[Manifest]:
    """Yields the policies that a stack has for tenants' secrets, with their bindings."""
    args = AdmissionPoliciesArgs("muster", True, 5000, secrets=True)
    declared = declare(lambda: AdmissionPolicies("muster", args))
    for kind in KINDS:
        for name in declared.kinds(kind):
            if name.endswith("-mount-own-secrets"):
                yield {
                    "apiVersion": "admissionregistration.k8s.io/v1",
                    "kind": kind,
                    "metadata": {"name": name.partition("/")[2]},
                    "spec": declared.spec(name),
                }


def is_refused(server: Kubectl, make: Callable[[], Manifest]) -> bool:
    return refusal(server, ADMIN, mounting(make, volume("other.example"), "", WITH)) != ""


@pytest.fixture(scope="module")
def guarded(server: Kubectl) -> Iterator[Kubectl]:
    """The server with these policies, which stack local has not, as it is not on Google Cloud."""
    manifests = list(policies())
    try:
        for namespace, labels in NAMESPACES.items():
            server.run("create", "namespace", namespace)
            server.run("label", "namespace", namespace, *labels)
        server.create(manifests)
        for make in MAKERS.values():  # each kind has its own policy
            wait_until("the policies' effect", partial(is_refused, server, make), EFFECT_SECONDS_MAX)
        yield server
    finally:
        for manifest in manifests:
            server.run("delete", manifest["kind"], manifest["metadata"]["name"], "--ignore-not-found")
        server.run("delete", "namespace", *NAMESPACES, "--wait=false", "--ignore-not-found")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", MAKERS)
def test_inline_volumes_of_a_tenant_with_secrets(guarded: Kubectl, kind: str, case: str) -> None:
    mounted, account, part = CASES[case]
    answer = refusal(guarded, ADMIN, mounting(MAKERS[kind], mounted, account, WITH))
    assert part in answer if part else answer == ""


@pytest.mark.parametrize("kind", MAKERS)
def test_a_tenant_without_secrets_mounts_none(guarded: Kubectl, kind: str) -> None:
    for account in ("ray", ""):
        assert IDENTITY in refusal(guarded, ADMIN, mounting(MAKERS[kind], OWN, account, WITHOUT))


def test_pod_security_allows_the_volume_at_its_strictest_level(guarded: Kubectl) -> None:
    guarded.run("label", "namespace", WITH, "pod-security.kubernetes.io/enforce=restricted")
    guarded.run("create", "serviceaccount", "ray", f"--namespace={WITH}")
    unprivileged = {
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "main", "image": "busybox", "securityContext": unprivileged}
    spec = {"serviceAccountName": "ray", "containers": [container], "volumes": [OWN]}
    metadata = {"name": "pod", "namespace": WITH}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    assert refusal(guarded, ADMIN, pod) == ""
    spec["volumes"] = [{"name": "secrets", "hostPath": {"path": "/"}}]
    assert "restricted volume types" in refusal(guarded, ADMIN, pod)


def test_a_volume_cannot_be_added_later(guarded: Kubectl) -> None:
    manifest = mounting(raycluster, volume(secretProviderClass="mine"), "ray", WITH)
    bare = mounting(raycluster, {"name": "secrets", "emptyDir": {}}, "ray", WITH)
    for each in (manifest, bare):  # queued gangs have stricter policies; this one is outside the queues
        del each["metadata"]["labels"]
        for container in pod_spec(each)["containers"]:
            container["resources"] = {"limits": {"cpu": "1", "memory": "1Gi"}}
    # An administrator's updates are exempt, as the sandbox's KubeRay is one.
    guarded.run("create", "rolebinding", "alice", f"--namespace={WITH}", "--clusterrole=cluster-admin", USER)
    guarded.create([bare])
    with pytest.raises(StepError, match=READ_ONLY):
        guarded.run("replace", "--dry-run=server", "-f", "-", *ALICE, stdin=json.dumps(manifest))
