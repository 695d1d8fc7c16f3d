"""The programs of the platform run in pods, with rights that are not an administrator's."""

from __future__ import annotations

import subprocess

import pytest

from sandbox.cluster.kubectl import Kubectl


def test_the_platforms_programs_run_in_pods(kubectl: Kubectl) -> None:
    pods = [pod for pod in kubectl.objects("pods") if pod["metadata"]["namespace"] != "team-a"]
    owners = {pod["metadata"]["generateName"].rpartition("-")[0].rpartition("-")[0] for pod in pods}
    assert owners == {"coredns", "kuberay-operator", "muster-controller", "muster-page"}
    # A controller that loses its Lease on a busy machine exits, and its container is restarted.
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}


@pytest.mark.parametrize(
    ("account", "verb", "resource"),
    [
        ("muster-system:muster-controller", "get", "secrets"),
        ("muster-system:muster-page", "patch", "workloads.kueue.x-k8s.io"),
        ("kuberay-system:kuberay-operator", "delete", "nodes"),
    ],
)
def test_accounts_lack_rights_that_they_do_not_need(
    kubectl: Kubectl, account: str, verb: str, resource: str
) -> None:
    assert answer(kubectl, verb, resource, f"--as=system:serviceaccount:{account}") == "no"


def test_no_account_of_a_pod_is_an_administrator(kubectl: Kubectl) -> None:
    accounts = {
        f"{pod['metadata']['namespace']}:{pod['spec']['serviceAccountName']}"
        for pod in kubectl.objects("pods")
    }
    assert len(accounts) >= 3
    for account in accounts:
        assert answer(kubectl, "*", "*", f"--as=system:serviceaccount:{account}") == "no", account


def answer(kubectl: Kubectl, *question: str) -> str:
    """Returns what `kubectl auth can-i` prints, which is also its exit code."""
    argv = [str(kubectl.executable), "--kubeconfig", str(kubectl.kubeconfig), "auth", "can-i", *question]
    return subprocess.run(argv, capture_output=True, text=True).stdout.strip()
