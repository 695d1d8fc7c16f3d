"""A sandbox with real nodes: what runs in pods, with which rights, and what `down` leaves on the machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes, wait_until
from sandbox.realnodes import cgroups
from sandbox.realnodes.machine import missing
from sandbox.up import down
from sandbox.up_real import TRAINING, up_real
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen

NAME = "nodes-test"
LOST_SECONDS_MAX = 120.0


def machine_state() -> dict[str, set[str]]:
    """Returns what a sandbox could leave on the machine, by kind."""
    links = subprocess.run(["ip", "-oneline", "link"], capture_output=True, text=True, check=True)
    routes = subprocess.run(["ip", "route"], capture_output=True, text=True, check=True)
    mounts = Path("/proc/self/mounts").read_text()
    sysctls = ("net/ipv4/ip_forward", "vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic")
    return {
        "interfaces": {line.split(":")[1].strip() for line in links.stdout.splitlines()},
        "routes": set(routes.stdout.splitlines()),
        "mounts": {line.split()[1] for line in mounts.splitlines()},
        "control groups": cgroups.names("muster"),
        "sysctls": {f"{name}={Path('/proc/sys', name).read_text().strip()}" for name in sysctls},
        "folders": {str(path) for path in Path("/var/lib").iterdir()},
    }


@pytest.fixture(scope="module")
def state() -> Iterator[RunState]:
    """A sandbox with real nodes, after its training scenario."""
    if (reason := missing()) is not None:
        pytest.skip(reason)
    before = machine_state()
    state = RunState(NAME)
    try:
        up_real(state, "muster", TRAINING, fresh=True)
        yield state
    finally:
        down(state)
    assert machine_state() == before
    assert Processes(state).marked() == []


@pytest.fixture(scope="module")
def kubectl(state: RunState) -> Kubectl:
    return Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)


def test_the_platforms_programs_run_in_pods(kubectl: Kubectl) -> None:
    pods = kubectl.objects("pods")
    owners = {
        pod["metadata"]["generateName"].rpartition("-")[0].rpartition("-")[0]
        for pod in pods
        if pod["metadata"]["namespace"] != "team-a"
    }
    assert owners == {"kuberay-operator", "muster-controller", "muster-page"}
    assert {status["restartCount"] for pod in pods for status in pod["status"]["containerStatuses"]} == {0}


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


def test_a_lost_node_is_not_ready(state: RunState, kubectl: Kubectl) -> None:
    name = "gke-system-1"
    Processes(state).kill(name)

    def lost() -> bool:
        path = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
        return kubectl.run("get", "node", name, "-o", path) == "Unknown"

    wait_until(f"the API server noticing the loss of {name}", lost, LOST_SECONDS_MAX, pause_seconds=1.0)
