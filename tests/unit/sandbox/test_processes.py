"""Supervision of real, short-lived processes: only the sandbox's processes are changed."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sandbox.cluster.processes import (
    Processes,
    wait_until,
)
from sandbox.cluster.records import ProcessRecord, id_of, write_record
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
IGNORE_SIGTERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True)"
STUBBORN = [sys.executable, "-c", f"{IGNORE_SIGTERM}; import time; time.sleep(60)"]


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    instance = Processes(RunState("unit", tmp_path))
    yield instance
    assert instance.stop_everything(grace_seconds=0) == []


def test_start_records_and_stop_ends_a_process(processes: Processes) -> None:
    started = processes.start("a", SLEEP)
    assert processes.table()["a"] == started
    processes.check("a")
    processes.stop("a")
    assert not psutil.pid_exists(started.pid) or started.process() is None
    assert processes.table() == {}


def test_a_second_process_of_the_same_name_is_refused(processes: Processes) -> None:
    processes.start("a", SLEEP)
    with pytest.raises(StepError, match="already runs"):
        processes.start("a", SLEEP)


def test_an_ended_process_is_reported_with_the_end_of_its_log(processes: Processes) -> None:
    started = processes.start("a", [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"])
    wait_until("end of the process", lambda: started.process() is None, 10, pause_seconds=0.01)
    with pytest.raises(StepError, match="the reason") as error:
        processes.check("a")
    assert error.value.log == processes.state.log("a")


def test_a_process_that_cannot_start_is_reported(processes: Processes) -> None:
    with pytest.raises(StepError, match="cannot be started"):
        processes.start("a", ["/does/not/exist"])


def test_a_process_that_ignores_sigterm_is_killed(processes: Processes) -> None:
    started = processes.start("a", STUBBORN)
    log = processes.state.log("a")
    wait_until("its start", lambda: "on" in log.read_text(), 10, pause_seconds=0.01)
    processes.stop("a", grace_seconds=0.1)
    assert started.process() is None


def test_a_reused_pid_does_not_count_as_the_process(processes: Processes) -> None:
    with subprocess.Popen(SLEEP) as other:
        same_pid = id_of(other.pid)
        processes.state.make()
        earlier = replace(same_pid, created=same_pid.created - 60)
        write_record(processes.state.processes, ProcessRecord("a", earlier, str(processes.state.log("a"))))
        with pytest.raises(StepError, match="has ended"):
            processes.check("a")
        processes.stop("a")
        assert other.poll() is None  # the process with this pid but another start time still runs
        other.kill()


def test_stop_everything_finds_unrecorded_processes(processes: Processes) -> None:
    started = processes.start("a", SLEEP)
    (processes.state.processes / "a.json").unlink()  # as if the run had been killed before it wrote this file
    assert processes.stop_everything(grace_seconds=0) == []
    assert started.process() is None


def test_a_process_that_has_just_been_started_is_found(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel reports an empty environment until exec has copied it."""
    started = processes.start("a", SLEEP)
    (processes.state.processes / "a.json").unlink()
    calls, real = [0], psutil.Process.environ

    def environ(process: psutil.Process) -> dict[str, str]:
        if process.pid == started.pid and calls[0] < 3:
            calls[0] += 1
            return {}
        return real(process)

    monkeypatch.setattr(psutil.Process, "environ", environ)
    assert [process.pid for process in processes.marked()] == [started.pid]


def test_processes_of_another_sandbox_keep_running(processes: Processes, tmp_path: Path) -> None:
    other = Processes(RunState("other", tmp_path))
    started = other.start("a", SLEEP)
    processes.stop_everything(grace_seconds=0)
    assert started.process() is not None
    assert other.stop_everything(grace_seconds=0) == []


def test_wait_until_times_out_and_names_the_condition() -> None:
    with pytest.raises(StepError, match="the moon did not happen within 0 s"):
        wait_until("the moon", lambda: False, timeout_seconds=0, pause_seconds=0)


@pytest.mark.parametrize("name", ["", "Upper", "-x", "x-", "a" * 33, "a/b", "../x"])
def test_a_name_that_is_no_valid_folder_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="--name"):
        RunState(name)
