"""The scenarios of `make up`, with every engine."""

import sys

import pytest

from sandbox.cluster.processes import Processes
from sandbox.scenario import EXAMPLES, SCENARIOS
from sandbox.scenarios import runner
from sandbox.scenarios.milestones import Scenario
from sandbox.toolchain.paths import RunState
from sandbox.up import down, up
from tests.sandbox.conftest import Cluster


@pytest.mark.parametrize("scenario", SCENARIOS["muster"], ids=lambda s: s.name)
def test_scenario_with_muster(cluster: Cluster, scenario: Scenario) -> None:
    examples = runner.read_examples(scenario, EXAMPLES)
    assert runner.run(scenario, cluster.state.kubeconfig, examples, sys.stdout).complete


@pytest.mark.parametrize("engine", ["kueue", "kai"])
def test_scenarios_with_other_engines_leave_no_process_running(engine: str) -> None:
    """`up` raises if a scenario does not end as expected."""
    state = RunState(f"e2e-{engine}")
    try:
        up(state, engine, fresh=True)
    finally:
        down(state)
    assert Processes(state).marked() == []
