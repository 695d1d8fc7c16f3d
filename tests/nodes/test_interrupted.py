"""`make up NODES=real` is killed; `down` restores the machine nevertheless."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

import pytest

from sandbox.cluster.processes import Processes, wait_until
from sandbox.realnodes.cluster import SWITCH
from sandbox.realnodes.machine import missing
from sandbox.up import down
from tests.nodes.conftest import machine_state
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import StepError

START_SECONDS_MAX = 240.0
"""Until the processes of nodes start, on a busy machine."""
NODE = "gke-system-1"


@pytest.mark.parametrize("process", [SWITCH, NODE])
def test_down_restores_the_machine_after_make_was_killed(process: str) -> None:
    if (reason := missing()) is not None:
        pytest.skip(reason)
    state = RunState("nodes-killed")
    with contextlib.suppress(StepError):  # it does not exist
        down(state)
    before = machine_state()
    argv = ["make", "up", "NODES=real", "SCENARIO=no", f"NAME={state.name}", "FRESH=1"]
    log = state.root.with_suffix(".log")
    with log.open("w") as output:
        make = subprocess.Popen(
            argv, cwd=CHECKOUT, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:

        def running() -> None:
            assert make.poll() is None, log.read_text()

        wait_until(
            f"the start of {process}",
            lambda: process in Processes(state).table(),
            START_SECONDS_MAX,
            running,
            0.05,
        )
    finally:
        os.killpg(make.pid, signal.SIGKILL)
        make.wait()
    assert Processes(state).marked() != []
    down(state)
    assert Processes(state).marked() == []
    assert machine_state() == before
    log.unlink()
