"""Options of `make up NODES=real` that contradict each other are refused before anything changes."""

from pathlib import Path

import pytest

from sandbox.up_real import JOB, SCENARIOS, chosen_on_real_nodes, scenarios_on_real_nodes, up_real
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError


def test_an_executed_ray_on_simulated_nodes_is_refused(tmp_path: Path) -> None:
    state = RunState("mine", tmp_path)
    with pytest.raises(StepError, match="RAY=real is for simulated nodes"):
        up_real(state, "muster", SCENARIOS["muster"], real_ray=True)
    assert not state.root.exists()


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        pytest.param("muster", "serving", id="a scenario of simulated nodes"),
        pytest.param("kueue", "elastic", id="a scenario of another engine"),
        pytest.param("kai", "training", id="a job that KAI does not restart"),
    ],
)
def test_a_scenario_that_the_engine_lacks_is_refused(engine: str, name: str) -> None:
    with pytest.raises(StepError, match=f"engine {engine} has no scenario '{name}' on real nodes"):
        chosen_on_real_nodes(engine, name)


@pytest.mark.parametrize("engine", SCENARIOS)
def test_up_plays_the_first_scenario_of_an_engine(engine: str) -> None:
    assert chosen_on_real_nodes(engine, None) == (JOB,) == SCENARIOS[engine][:1]


def test_another_scenario_is_refused_in_a_running_sandbox(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="engine muster has no scenario 'jobs' on real nodes"):
        scenarios_on_real_nodes(RunState("mine", tmp_path), "jobs")
