"""Gangs run on real nodes with engines kueue and kai, each in a separate sandbox."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sandbox.cluster.kubectl import Kubectl
from sandbox.up import down
from sandbox.up_real import SCENARIOS, up_real
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen

KUEUE_ACCOUNT = "system:serviceaccount:kueue-system:kueue-controller-manager"


@contextmanager
def sandbox(engine: str) -> Iterator[Kubectl]:
    """A sandbox with real nodes and this engine, after the engine's scenarios."""
    state = RunState(f"nodes-{engine}")
    try:
        up_real(state, engine, SCENARIOS[engine], fresh=True)
        yield Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)
    finally:
        down(state)


@pytest.mark.usefixtures("real_nodes")
def test_kueue_runs_in_a_pod_as_its_chart_declares_it() -> None:
    with sandbox("kueue") as kubectl:
        (pod,) = kubectl.objects("pods", "--namespace", "kueue-system")
        assert pod["spec"]["serviceAccountName"] == "kueue-controller-manager"
        (container,) = pod["spec"]["containers"]
        assert container["image"] == "registry.k8s.io/kueue/kueue:v0.19.2"
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert pod["spec"]["securityContext"]["runAsNonRoot"]
        assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
        assert not may(kubectl, "*", "*", KUEUE_ACCOUNT)
        assert not may(kubectl, "get", "secrets", KUEUE_ACCOUNT)
        assert finished(kubectl) == {"True"}, "Workloads of all jobs of the scenarios"


@pytest.mark.usefixtures("real_nodes")
def test_kai_places_gangs_on_real_nodes() -> None:
    with sandbox("kai") as kubectl:
        jobs = kubectl.objects("rayjobs")
        assert [job["status"]["jobStatus"] for job in jobs] == ["SUCCEEDED", "SUCCEEDED"]
        nodes = {pod["spec"].get("nodeName", "") for pod in kubectl.objects("pods")}
        assert nodes <= {"gke-system-0", "gke-system-1"}


def finished(kubectl: Kubectl) -> set[str]:
    """Returns the statuses of the condition Finished of all Workloads."""
    conditions = [
        condition
        for workload in kubectl.objects("workloads")
        for condition in workload["status"]["conditions"]
        if condition["type"] == "Finished"
    ]
    return {str(condition["status"]) for condition in conditions}


def may(kubectl: Kubectl, verb: str, resource: str, account: str) -> bool:
    """Returns whether the account has the right in all namespaces."""
    argv = [str(kubectl.executable), "--kubeconfig", str(kubectl.kubeconfig), "auth", "can-i", verb, resource]
    answer = subprocess.run([*argv, "--all-namespaces", f"--as={account}"], capture_output=True, text=True)
    return answer.stdout.strip() == "yes"
