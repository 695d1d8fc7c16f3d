"""The scenarios of `make up`, with every engine."""

import sys

import pytest

from sandbox.cluster.processes import Processes
from sandbox.scenario import EXAMPLES, SCENARIOS
from sandbox.scenarios import runner
from sandbox.scenarios.milestones import Scenario
from sandbox.up import down, up
from tests.sandbox.conftest import Cluster, connected
from tests.sandbox.removal import destroy, lasting, until_runs
from tools.toolchain.paths import RunState


@pytest.mark.parametrize("scenario", SCENARIOS["muster"], ids=lambda s: s.name)
def test_scenario_with_muster(cluster: Cluster, scenario: Scenario) -> None:
    examples = runner.read_examples(scenario, EXAMPLES)
    assert runner.run(scenario, cluster.state.kubeconfig, examples, sys.stdout)


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["kueue", "kai"])
def test_other_engines_play_scenarios_and_are_destroyed_while_a_gang_runs(engine: str) -> None:
    """`up` raises if a scenario does not end as expected."""
    state = RunState(f"e2e-{engine}")
    try:
        up(state, engine, fresh=True)
        with connected(state) as cluster:
            # the scenario's training still fills the queue of team-a
            job = cluster.submit(lasting("lasting", namespace="team-b"))
            until_runs(cluster, job, "team-b")
            destroy(cluster)
    finally:
        down(state)
    assert Processes(state).marked() == []
