"""The real engine for previews, and a control plane for what the Kubernetes stand-in does to one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster import start_control_plane
from sandbox.kubectl import Kubectl
from sandbox.paths import RunState
from sandbox.processes import Processes
from sandbox.steps import Screen
from sandbox.toolchain import ensure_tools
from sandbox.tools import CLUSTER_TOOLS


@pytest.fixture(scope="session")
def tools() -> dict[str, Path]:
    """The executables, built if they are not there yet."""
    return {name: found.path for name, found in ensure_tools(["pulumi", *CLUSTER_TOOLS], Screen()).items()}


@pytest.fixture(scope="session")
def cluster(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A Kubernetes with no nodes, shared by all tests here; its administrator's kubectl."""
    state = RunState("plugins", checkout=tmp_path_factory.mktemp("cluster"))
    processes = Processes(state)
    try:
        yield start_control_plane(state, processes, tools)
    finally:
        processes.stop_everything()
