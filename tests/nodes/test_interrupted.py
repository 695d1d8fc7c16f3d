"""A killed `make up` leaves nothing that `make down`, or the next `make up`, does not remove."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil
import pytest

from sandbox.up import down, stop
from tests.nodes.machine_state import differences, machine_state, processes_of
from tools.toolchain.paths import CHECKOUT, RunState

NAME = "nodes-interrupted"
Kill = Callable[[subprocess.Popen[str]], None]


@dataclass(frozen=True)
class Moment:
    """A moment in `make up`: some seconds after the line with which a step begins or ends."""

    line: str
    seconds: float = 0.0


@pytest.fixture
def state(real_nodes: None) -> Iterator[RunState]:
    """A sandbox that is down before and after."""
    state = RunState(NAME)
    stop(state)
    yield state
    stop(state)


@contextmanager
def starting(state: RunState) -> Iterator[subprocess.Popen[str]]:
    """Runs `make up` in its own process group."""
    argv = ["make", "up", "NODES=real", f"NAME={state.name}", "SCENARIO=no", "FRESH=1"]
    with subprocess.Popen(
        argv,
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as make:
        yield make


def wait_for(make: subprocess.Popen[str], moment: Moment) -> None:
    """Reads the output of `make up` until this moment."""
    assert make.stdout is not None
    lines: list[str] = []
    for line in make.stdout:
        lines.append(line)
        if moment.line in line:
            time.sleep(moment.seconds)
            return
    raise AssertionError(f"{moment.line!r} is missing in:\n{''.join(lines)}")


def kill_group(make: subprocess.Popen[str]) -> None:
    """Kills make, the program that it runs, and the commands that this waits for."""
    os.killpg(make.pid, signal.SIGKILL)


def kill_descendants(make: subprocess.Popen[str]) -> None:
    """Kills make and everything that it has started, as far as it still is its child."""
    processes = psutil.Process(make.pid).children(recursive=True)
    kill_group(make)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


@pytest.mark.parametrize(
    ("moment", "kill"),
    [
        pytest.param(Moment("] control plane: etcd", 2), kill_group, id="control plane"),
        pytest.param(Moment("] nodes: nodes of"), kill_group, id="network"),
        pytest.param(Moment("] nodes: nodes of", 1), kill_descendants, id="network, all processes"),
        pytest.param(Moment("] nodes: nodes of", 2), kill_group, id="nodes"),
        pytest.param(Moment("] nodes: nodes of", 4), kill_descendants, id="nodes, all processes"),
        pytest.param(Moment("] nodes: gke-system"), kill_descendants, id="pods, all processes"),
        pytest.param(Moment("] pulumi up: stack", 4), kill_group, id="pulumi"),
    ],
)
def test_down_restores_the_machine_after_a_killed_up(moment: Moment, kill: Kill, state: RunState) -> None:
    before = machine_state(state)
    with starting(state) as make:
        wait_for(make, moment)
        kill(make)
    subprocess.run(["make", "down", f"NAME={state.name}"], cwd=CHECKOUT, check=True)
    assert processes_of(state) == []
    assert differences(before, machine_state(state)) == {}


def test_the_next_up_replaces_what_a_killed_one_left(state: RunState) -> None:
    before = machine_state(state)
    with starting(state) as make:
        wait_for(make, Moment("] operators: KubeRay in", 2))
        kill_group(make)
    leftovers = set(processes_of(state))
    assert leftovers
    with starting(state) as make:
        wait_for(make, Moment("The sandbox is up."))
        assert not leftovers & set(processes_of(state))
    down(state)
    assert processes_of(state) == []
    assert differences(before, machine_state(state)) == {}
