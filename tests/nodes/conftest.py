"""One sandbox with real nodes for all tests of this layer, and the machine as it was before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.cluster.kubectl import Kubectl
from sandbox.images.debian import extracted
from sandbox.realnodes.cluster import PACKAGES
from sandbox.realnodes.environment import RealNodes
from sandbox.up import down
from sandbox.up_real import TRAINING, up_real
from tests.nodes.machine_state import differences, machine_state, processes_of
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen, StepError

NAME = "nodes-test"


@pytest.fixture(scope="session")
def real_nodes() -> None:
    """Skips a test, with the reason, where real nodes cannot run or Debian's packages are unavailable."""
    try:
        RealNodes(RunState(NAME), Screen(), "muster").check()
        extracted(PACKAGES)
    except StepError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def state(real_nodes: None) -> Iterator[RunState]:
    """A sandbox with real nodes, after the scenario `training`."""
    state = RunState(NAME)
    before = machine_state(state)
    try:
        up_real(state, "muster", [TRAINING], fresh=True)
        yield state
    finally:
        down(state)
    assert differences(before, machine_state(state)) == {}
    assert processes_of(state) == []


@pytest.fixture(scope="session")
def kubectl(state: RunState) -> Kubectl:
    """The administrator's kubectl of the sandbox."""
    return Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)
