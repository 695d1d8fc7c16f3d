"""A real Ray executes a training job, which is preempted and resumes from its checkpoint."""

import os
import re

import pytest

from sandbox.cluster.processes import Processes
from sandbox.scenarios.resumed_training import RESUMED
from sandbox.up import down, up
from tools.toolchain.paths import RunState
from tools.toolchain.python_environments import python_with
from tools.toolchain.steps import StepError


def test_a_preempted_training_resumes_from_its_checkpoint_with_a_real_ray() -> None:
    """`up` raises if the training job does not resume, or a job fails."""
    try:
        python_with("ray")
    except StepError as error:
        pytest.skip(str(error))
    state = RunState(f"ray-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}")
    try:
        up(state, "muster", fresh=True, real_ray=True)
    finally:
        down(state)
    assert Processes(state).marked() == []
    (training,) = (log.read_text() for log in state.logs.glob("job-train-*.log"))
    steps = [int(step) for step in re.findall(r"(?m)^step (\d+) of 20", training)]
    resumed = RESUMED.search(training)
    assert resumed is not None
    # The step that was running may have written its checkpoint without printing.
    assert steps in ([*range(1, 21)], [s for s in range(1, 21) if s != int(resumed[1])])
    assert training.splitlines()[-1] == "result: y = 3.000 x + 1.000"
    (inference,) = (log.read_text() for log in state.logs.glob("job-batch-inference-*.log"))
    assert inference.splitlines()[-1] == "1000 predictions, 500 of class 1"
