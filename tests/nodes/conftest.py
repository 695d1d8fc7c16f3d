"""One sandbox with real nodes for all tests of this layer, and the machine as it was before."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes
from sandbox.realnodes import cgroups
from sandbox.realnodes.machine import missing
from sandbox.up import down
from sandbox.up_real import SCENARIOS, up_real
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen

NAME = "nodes-test"


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


@pytest.fixture(scope="session")
def state() -> Iterator[RunState]:
    """A sandbox with real nodes, after its scenarios."""
    if (reason := missing()) is not None:
        pytest.skip(reason)
    before = machine_state()
    state = RunState(NAME)
    try:
        up_real(state, "muster", SCENARIOS["muster"], fresh=True)
        yield state
    finally:
        down(state)
    assert machine_state() == before
    assert Processes(state).marked() == []


@pytest.fixture(scope="session")
def kubectl(state: RunState) -> Kubectl:
    """The administrator's kubectl of the sandbox."""
    return Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)
