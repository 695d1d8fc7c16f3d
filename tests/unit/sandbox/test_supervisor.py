"""Restarts of a sandbox's processes: their delays, what is recorded of them, and real ones to their end."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from sandbox.cluster.marks import marked
from sandbox.cluster.processes import Processes, wait_until
from sandbox.cluster.records import Exit, ProcessId, ProcessRecord, read_records, write_record
from sandbox.cluster.supervisor import WHY_CHARACTERS_MAX, BackOff, Supervisor, last_line
from sandbox.status_rows import process_row
from tools.toolchain.paths import MARK, RunState
from tools.toolchain.steps import StepError

MINUTE = 60.0
ENDED = ProcessId(2**22 + 1, 0.0)
OURSELVES = ProcessId(psutil.Process().pid, psutil.Process().create_time())


@pytest.mark.parametrize(
    ("ran_s", "delays_s"),
    [
        pytest.param([1.0] * 9, [0, 10, 20, 40, 80, 160, 300, 300, 300], id="doubles-up-to-five-minutes"),
        pytest.param([1, 1, 1, 10 * MINUTE, 1], [0, 10, 20, 0, 10], id="a-run-of-ten-minutes-resets-it"),
        pytest.param([1, 1, 9 * MINUTE, 1], [0, 10, 20, 40], id="a-shorter-run-does-not"),
    ],
)
def test_delays_before_restarts_are_those_of_a_kubelet(ran_s: list[float], delays_s: list[float]) -> None:
    back_off = BackOff()
    assert [back_off.delay_s(seconds) for seconds in ran_s] == delays_s


class Stopped(Exception):
    """Ends a supervisor in a test."""


@dataclass
class Machine:
    """A clock, and processes of which each runs for a time, logs a line and exits with a code."""

    log: Path
    ends: Iterator[tuple[float, str, int]]
    seconds: float = 1000.0
    observed: list[ProcessRecord] = field(default_factory=list)

    @dataclass
    class Run:
        machine: "Machine"
        id: ProcessId

        def wait(self) -> int:
            self.machine.observe()
            ran_s, line, code = next(self.machine.ends)
            self.machine.seconds += ran_s
            with self.machine.log.open("a") as log:
                log.write(line)
            return code

    def start(self) -> Run:
        if len(self.observed) == 4:
            raise Stopped
        return self.Run(self, ProcessId(100 + len(self.observed), self.seconds))

    def sleep(self, seconds: float) -> None:
        self.observe()
        self.seconds += seconds

    def observe(self) -> None:
        self.observed.append(read_records(self.log.parent)["a"])


def test_the_record_has_restarts_and_the_last_exit_while_it_runs_and_while_it_waits(tmp_path: Path) -> None:
    lost = "ERROR lease: has lost Lease muster-system/muster-controller\n"
    machine = Machine(tmp_path / "a.log", iter([(30.0, f"INFO begins\n{lost}\n", 1), (2.0, "", -9)]))
    own = ProcessId(1, 5.0)
    supervisor = Supervisor(
        "a", tmp_path, machine.log, own, machine.start, lambda: machine.seconds, machine.sleep
    )
    with pytest.raises(Stopped):
        supervisor.run()
    first, second = Exit(1030.0, 1, lost.strip()), Exit(1032.0, -9, "")
    log = str(machine.log)
    assert machine.observed == [
        ProcessRecord("a", ProcessId(100, 1000.0), log, True, own),
        ProcessRecord("a", ProcessId(100, 1000.0), log, True, own, 0, first, 1030.0),
        ProcessRecord("a", ProcessId(102, 1030.0), log, True, own, 1, first),
        ProcessRecord("a", ProcessId(102, 1030.0), log, True, own, 1, second, 1042.0),
    ]


def test_a_record_that_cannot_be_written_does_not_end_supervision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_record(tmp_path, ProcessRecord("a", ENDED, "x"))
    monkeypatch.setattr("sandbox.cluster.supervisor.write_record", full_disk)
    machine = Machine(tmp_path / "a.log", iter([(1.0, "", 1)] * 2))
    supervisor = Supervisor("a", tmp_path, machine.log, ENDED, machine.start, lambda: 0.0, machine.sleep)
    with pytest.raises(Stopped):
        supervisor.run()


def full_disk(folder: Path, record: ProcessRecord) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("text", "from_byte", "line"),
    [
        pytest.param("one\ntwo\n\n \n", 0, "two", id="blank-lines-are-skipped"),
        pytest.param("of the run before\n", len("of the run before\n"), "", id="an-earlier-run-is-not-read"),
        pytest.param("a\tb  c", 0, "a b c", id="white-space-is-one-space"),
        pytest.param("x" * 500, 0, "x" * (WHY_CHARACTERS_MAX - 1) + "…", id="a-long-line-is-shortened"),
        pytest.param("x\n" * 100_000 + "end\n", 0, "end", id="only-the-end-of-a-long-log-is-read"),
    ],
)
def test_the_reason_is_the_last_line_of_the_log(tmp_path: Path, text: str, from_byte: int, line: str) -> None:
    (tmp_path / "log").write_text(text)
    assert last_line(tmp_path / "log", from_byte) == line


def test_without_a_log_there_is_no_reason(tmp_path: Path) -> None:
    assert last_line(tmp_path / "none") == ""


LOST = Exit(880.0, 1, "has lost Lease x")


@pytest.mark.parametrize(
    ("record", "cells"),
    [
        pytest.param(
            ProcessRecord("a", ENDED, "/none"), ("ended", "-", "-", "-", ""), id="ended-unsupervised"
        ),
        pytest.param(
            ProcessRecord("a", ENDED, "/none", True, OURSELVES, 2, LOST, 1030.0),
            ("back-off", "2m", "-", "2", "starts again in 30s; exit 1 2m ago: has lost Lease x"),
            id="waits-for-its-restart",
        ),
        pytest.param(
            ProcessRecord("a", ENDED, "/none", True, ENDED, 2, Exit(880.0, -9, ""), 1030.0),
            ("ended", "2m", "-", "2", "SIGKILL 2m ago"),
            id="its-supervisor-was-killed",
        ),
    ],
)
def test_status_says_since_when_and_why(record: ProcessRecord, cells: tuple[str, ...]) -> None:
    assert process_row(record, now=1000.0) == ("a", str(ENDED.pid), *cells)


def test_status_says_why_a_running_process_was_restarted() -> None:
    record = ProcessRecord("a", OURSELVES, "/none", True, OURSELVES, 1, Exit(OURSELVES.created, 1, "lost"))
    _, _, state, since, memory, restarts, why = process_row(record, now=OURSELVES.created + 600)
    assert (state, since, restarts, why) == ("running", "10m", "1", "exit 1 10m ago: lost")
    assert memory.endswith(" MB")


def test_records_of_another_version_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text('{"name": "old", "pid": 1, "created": 0.0, "log": "x"}\n')
    write_record(tmp_path, ProcessRecord("new", ENDED, "x"))
    assert list(read_records(tmp_path)) == ["new"]


# Real processes

SLEEP = "import time; time.sleep(60)"
WITH_CHILD = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); {SLEEP}"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    running = Processes(RunState("unit", tmp_path))
    yield running
    assert running.stop_everything(grace_seconds=0) == []
    assert marked({MARK: str(running.state.root)}) == []


def start(processes: Processes, program: str) -> ProcessRecord:
    return processes.start("a", [sys.executable, "-c", program], restarted=True)


def until(what: str, ready: Callable[[], bool]) -> None:
    wait_until(what, ready, 30, pause_seconds=0.02)


def test_a_killed_process_is_started_again_and_its_children_end_with_it(processes: Processes) -> None:
    first = start(processes, WITH_CHILD)
    process = first.process()
    assert process is not None
    until("its child", lambda: bool(process.children()))
    (child,) = process.children()
    process.kill()
    until("the restart", lambda: processes.table()["a"].restarts == 1)
    second = processes.table()["a"]
    assert second.id != first.id
    assert second.process() is not None
    assert (second.last_exit.code if second.last_exit else None) == -9
    until("the end of the first one's child", lambda: not child.is_running() or child.status() == "zombie")
    processes.check("a")
    with pytest.raises(StepError, match=r"a has ended \(SIGKILL\)"):
        processes.check_start("a")


def test_a_process_that_ends_twice_waits_and_the_check_says_how_it_ended(processes: Processes) -> None:
    start(processes, "print('the reason'); raise SystemExit(3)")
    until("the second end", lambda: _restarts_after_its_end(processes) == 1)
    with pytest.raises(StepError, match=r"(?s)a has ended \(exit 3\):.*the reason"):
        processes.check("a")
    with pytest.raises(StepError, match="already runs"):
        start(processes, SLEEP)
    processes.stop("a")
    start(processes, SLEEP)
    processes.check_start("a")


def _restarts_after_its_end(processes: Processes) -> int | None:
    record = processes.table()["a"]
    return record.restarts if record.next_start is not None else None


@pytest.mark.parametrize("grace_seconds", [0.0, 10.0])
def test_a_stopped_process_is_not_restarted(processes: Processes, grace_seconds: float) -> None:
    start(processes, WITH_CHILD)
    processes.stop("a", grace_seconds)
    assert processes.table() == {}
    assert marked({MARK: str(processes.state.root)}) == []


def test_a_sandbox_is_stopped_with_supervisors_that_were_not_recorded(processes: Processes) -> None:
    record = start(processes, WITH_CHILD)
    (processes.state.processes / "a.json").unlink()  # as if the run had been killed before it was written
    assert processes.stop_everything(grace_seconds=0) == []
    assert record.process() is None


def test_a_supervised_program_that_does_not_exist_is_reported(processes: Processes) -> None:
    with pytest.raises(StepError, match=r"(?s)a cannot be started:.*/does/not/exist"):
        processes.start("a", ["/does/not/exist"], restarted=True)
