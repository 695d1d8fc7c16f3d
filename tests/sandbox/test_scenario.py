"""The product's main job, as `make up` plays it: the same end with either engine."""

import sys

from sandbox import scenario
from sandbox.paths import CHECKOUT, RunState
from sandbox.processes import Processes
from sandbox.up import down, up
from tests.sandbox.conftest import Cluster


def test_scenario_with_muster(cluster: Cluster) -> None:
    assert scenario.run(cluster.state.kubeconfig, CHECKOUT / "examples", sys.stdout)


def test_scenario_with_the_real_kueue_and_nothing_is_left_running() -> None:
    """`up` raises unless the scenario ended as it should."""
    state = RunState("e2e-kueue")
    try:
        up(state, "kueue")
    finally:
        down(state)
    assert Processes(state).marked() == []
