"""`python -m sandbox.cluster.supervisor`: starts one process of a sandbox, and restarts it whenever it ends.

It does what a kubelet does for a container with restartPolicy Always: the first restart is immediate; the
next ones are delayed by 10 s, 20 s, 40 s, and so on up to 5 minutes; after a run of 10 minutes the next end
counts as the first one (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-restarts
and KEP-4603, read 2026-11-25). As with a container, the processes that it started end with it.

Not included: probes. A process that hangs is not restarted.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn, Protocol

from sandbox.cluster.records import Exit, ProcessId, ProcessRecord, id_of, write_record

FIRST_DELAY_S = 10.0
DELAY_S_MAX = 300.0
RESET_AFTER_S = 600.0
TAIL_BYTES = 64 * 1024
WHY_CHARACTERS_MAX = 200


@dataclass
class BackOff:
    """The delay before each restart."""

    next_delay_s: float = 0.0

    def delay_s(self, ran_s: float) -> float:
        """Returns the delay after the end of a process that ran this long."""
        delay_s = 0.0 if ran_s >= RESET_AFTER_S else self.next_delay_s
        self.next_delay_s = min(2 * delay_s, DELAY_S_MAX) if delay_s else FIRST_DELAY_S
        return delay_s


class Child(Protocol):
    """A process that was started."""

    id: ProcessId

    def wait(self) -> int:
        """Waits for its end; returns its exit code, negative for a signal."""


@dataclass
class Supervisor:
    """Runs one process again and again, and keeps its record up to date. `clock` is in seconds since the
    epoch."""

    name: str
    folder: Path
    log: Path
    id: ProcessId
    start: Callable[[], Child]
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    back_off: BackOff = field(default_factory=BackOff)

    def run(self) -> NoReturn:
        """Runs until it is killed. Raises OSError if the process cannot be started."""
        restarts, last_exit = 0, None
        while True:
            log_bytes, started = _size(self.log), self.clock()
            child = self.start()
            record = ProcessRecord(
                self.name, child.id, str(self.log), True, self.id, restarts, last_exit, None
            )
            self._write(record)
            code = child.wait()
            ended = self.clock()
            last_exit = Exit(ended, code, last_line(self.log, log_bytes))
            delay_s = self.back_off.delay_s(ended - started)
            self._write(replace(record, last_exit=last_exit, next_start=ended + delay_s))
            self.sleep(delay_s)
            restarts += 1

    def _write(self, record: ProcessRecord) -> None:
        """Writes the record, if it can: a full disk must not end supervision."""
        with contextlib.suppress(OSError):
            write_record(self.folder, record)


class ChildProcess:
    """A child of this process, in its own session."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._child = subprocess.Popen(list(argv), stdin=subprocess.DEVNULL, start_new_session=True)
        self.id = id_of(self._child.pid)  # until wait() it is at least a zombie

    def wait(self) -> int:
        """Waits for its end and kills its process group; returns its exit code."""
        pid = self._child.pid
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        os.killpg(pid, signal.SIGKILL)  # before it is reaped: no other group can have this id yet
        return self._child.wait()


def last_line(log: Path, from_byte: int = 0) -> str:
    """Returns the last line that is not blank after this byte, shortened."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(from_byte, _size(log) - TAIL_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    line = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")
    return line if len(line) <= WHY_CHARACTERS_MAX else f"{line[: WHY_CHARACTERS_MAX - 1]}…"


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def command(name: str, folder: Path, log: Path, argv: Sequence[str]) -> list[str]:
    """Returns the command line of a supervisor that runs `argv`; its output must go to the log."""
    return [sys.executable, "-m", "sandbox.cluster.supervisor", name, str(folder), str(log), *argv]


def main(arguments: Sequence[str]) -> NoReturn:
    """Supervises the process that the arguments of `command` describe."""
    name, folder, log, *argv = arguments
    own = id_of(os.getpid())
    Supervisor(name, Path(folder), Path(log), own, lambda: ChildProcess(argv)).run()


if __name__ == "__main__":
    main(sys.argv[1:])
