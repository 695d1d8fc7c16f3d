"""Options of `make up NODES=real` that contradict each other are refused before anything changes."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from sandbox.up_real import SCENARIOS, scenarios_on_real_nodes, up_real
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError


@pytest.mark.parametrize(
    ("engine", "scenarios", "real_ray", "message"),
    [
        pytest.param("muster", ["serving"], False, "real nodes have no scenario 'serving'", id="scenario"),
        pytest.param("muster", SCENARIOS, True, "RAY=real is for simulated nodes", id="RAY"),
        pytest.param("kai", (), False, "the engine kai supports simulated nodes only", id="engine"),
    ],
)
def test_contradictions_are_refused(
    engine: str, scenarios: Sequence[str], real_ray: bool, message: str, tmp_path: Path
) -> None:
    state = RunState("mine", tmp_path)
    with pytest.raises(StepError, match=message):
        up_real(state, engine, scenarios, real_ray=real_ray)
    assert not state.root.exists()


def test_another_scenario_is_refused_in_a_running_sandbox(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="real nodes have no scenario 'jobs'"):
        scenarios_on_real_nodes(RunState("mine", tmp_path), ["jobs"])
