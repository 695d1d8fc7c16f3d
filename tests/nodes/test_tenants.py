"""Bounds of a tenant's namespace that act on its pods, and the rights of users and of the platform."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from tests.nodes.pods import SECONDS_MAX, created, job, pod, pods_of_job, wait_running
from tools.toolchain.steps import StepError

SLEEP = ["sleep", "600"]
USER = ("--as=alice", "--as-group=team-a@example.com", "--as-group=system:authenticated")


def privileged(obj: Object) -> Object:
    """Gives the container the rights of its node."""
    obj["spec"]["template"]["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    return obj


def test_pod_security_is_enforced_on_pods_of_admitted_jobs(kubectl: Kubectl) -> None:
    with created(kubectl, [privileged(job("privileged", pods=1, command=SLEEP))]):
        of_job = "--field-selector=involvedObject.name=privileged"

        def refused() -> bool:
            texts = kubectl.run("get", "events", "-n", "team-a", of_job, "-o", "jsonpath={.items[*].message}")
            return 'violates PodSecurity "baseline' in texts

        wait_until("an event about Pod Security", refused, SECONDS_MAX, pause_seconds=0.5)
        assert pods_of_job(kubectl, "privileged") == []


def test_a_pod_gets_the_defaults_of_the_limit_range(kubectl: Kubectl) -> None:
    plain = pod("plain", "team-a", SLEEP)
    del plain["spec"]["containers"][0]["resources"]
    with created(kubectl, [plain]):
        wait_running(kubectl, "team-a", ["plain"])
        (running,) = kubectl.objects("pods", "--namespace", "team-a", "--field-selector=metadata.name=plain")
        assert running["spec"]["containers"][0]["resources"] == {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "2", "memory": "4Gi"},
        }


def test_the_resource_quota_bounds_what_bypasses_queues(kubectl: Kubectl) -> None:
    greedy = pod("greedy", "team-a", SLEEP)
    gpus = {"nvidia.com/gpu": "9"}
    resources: dict[str, Any] = greedy["spec"]["containers"][0]["resources"]
    for amounts in resources.values():
        amounts.update(gpus)
    with pytest.raises(StepError, match=r"exceeded quota: .*requested: requests\.nvidia\.com/gpu=9"):
        kubectl.create([greedy])


@pytest.mark.parametrize(
    ("verb", "resource", "namespace", "answer"),
    [
        ("create", "rayjobs.ray.io", "team-a", "yes"),
        ("get", "pods/log", "team-a", "yes"),
        ("create", "pods/exec", "team-a", "no"),
        ("create", "pods", "team-a", "no"),
        ("update", "pods/resize", "team-a", "no"),
        ("delete", "networkpolicies.networking.k8s.io", "team-a", "no"),
        ("patch", "workloads.kueue.x-k8s.io", "team-a", "no"),
        ("create", "rayjobs.ray.io", "team-b", "no"),
    ],
)
def test_a_user_of_the_team(kubectl: Kubectl, verb: str, resource: str, namespace: str, answer: str) -> None:
    argv = [str(kubectl.executable), "--kubeconfig", str(kubectl.kubeconfig), "auth", "can-i", verb, resource]
    result = subprocess.run([*argv, "-n", namespace, *USER], capture_output=True, text=True)
    assert result.stdout.strip() == answer


def test_only_administrators_of_the_machine_are_administrators(kubectl: Kubectl) -> None:
    subjects = [
        f"{subject['kind']} {subject['name']}"
        for kind in ("clusterrolebindings", "rolebindings")
        for binding in kubectl.objects(kind)
        if binding["roleRef"]["name"] == "cluster-admin"
        for subject in binding.get("subjects", ())
    ]
    assert subjects == ["Group system:masters"]


def test_no_role_of_the_platform_allows_everything(kubectl: Kubectl) -> None:
    """Excludes the roles of Kubernetes itself, which its controllers and administrators have."""
    roles = [
        role["metadata"]["name"]
        for kind in ("clusterroles", "roles")
        for role in kubectl.objects(kind)
        if "kubernetes.io/bootstrapping" not in role["metadata"].get("labels", {})
        for rule in role.get("rules") or ()
        if "*" in rule.get("verbs", ()) and "*" in rule.get("resources", ())
    ]
    assert roles == []
