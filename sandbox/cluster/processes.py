"""Background processes of one sandbox, identified by pid and start time: no other is ever signaled."""

import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import psutil

from sandbox.cluster import supervisor
from sandbox.cluster.marks import marked
from sandbox.cluster.records import ProcessRecord, id_of, read_records, write_record
from tools.toolchain.paths import CHECKOUT, MARK, PROCESS_MARK, RunState
from tools.toolchain.steps import StepError, tail

START_SECONDS_MAX = 60.0  # of a supervisor on a busy machine
KILLS_MAX = 5


class Processes:
    """Starts, watches and stops the processes of one sandbox."""

    def __init__(self, state: RunState) -> None:
        self.state = state

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Returns the environment of a process of this sandbox: ours, the mark, and `extra`."""
        own = {
            MARK: str(self.state.root),
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONUNBUFFERED": "1",
            "NO_PROXY": "127.0.0.1,localhost",  # a user's proxy cannot reach our loopback
            "no_proxy": "127.0.0.1,localhost",
        }
        return {**os.environ, **own, **(extra or {})}

    def start(
        self,
        name: str,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        cwd: Path | None = None,
        *,
        restarted: bool = False,
    ) -> ProcessRecord:
        """Starts a process in its own session, with its output appended to the log; if `restarted`, under a
        supervisor, which restarts it when it ends.

        Raises StepError if one of that name already runs or the executable cannot be started.
        """
        self.state.make()
        if (old := self.table().get(name)) is not None and (old.process() or _supervisor(old)):
            raise StepError(f"{name} already runs as process {old.pid}", try_this=self.state.command("down"))
        log = log or self.state.log(name)
        if restarted:
            argv = supervisor.command(name, self.state.processes, log, argv)
        with log.open("a") as output:
            try:
                child = subprocess.Popen(
                    list(argv),
                    cwd=cwd or CHECKOUT,
                    env={**self.environment(env), PROCESS_MARK: name},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise StepError(f"{name} cannot be started: {error}", log=log) from error
        child.returncode = 0  # it outlives this object; psutil identifies it by pid and start time
        if restarted:
            return self._recorded_by(child.pid, name, log)
        return self.adopt(name, child.pid, log)

    def _recorded_by(self, pid: int, name: str, log: Path) -> ProcessRecord:
        """Returns the record of the process that this supervisor starts."""

        def recorded() -> bool:
            record = self.table().get(name)
            return record is not None and record.supervisor is not None and record.supervisor.pid == pid

        def supervised() -> None:
            if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                raise StepError(f"{name} cannot be started:\n{tail(log)}", log=log)

        wait_until(f"the start of {name}", recorded, START_SECONDS_MAX, supervised, pause_seconds=0.02)
        return self.table()[name]

    def adopt(self, name: str, pid: int, log: Path, graceful: bool = True) -> ProcessRecord:
        """Records a process that kwokctl or `start` started for this sandbox."""
        try:
            record = ProcessRecord(name, id_of(pid), str(log), graceful)
        except psutil.NoSuchProcess as error:
            raise StepError(f"{name} ended immediately:\n{tail(log)}", log=log) from error
        self.state.make()
        write_record(self.state.processes, record)
        return record

    def table(self) -> dict[str, ProcessRecord]:
        """Returns every recorded process by name, whether it still runs or not."""
        return read_records(self.state.processes)

    def check(self, name: str) -> None:
        """Raises StepError with the end of its log if the process does not run."""
        record = self.table().get(name)
        if record is None:
            raise StepError(f"{name} was never started", try_this=self.state.command("status"))
        if record.process() is None:
            raise _ended(record)

    def check_start(self, name: str) -> None:
        """Raises StepError with the end of its log if the process has ended since it was started, even if it
        was restarted."""
        self.check(name)
        if (record := self.table()[name]).restarts:
            raise _ended(record)

    def stop(self, name: str, grace_seconds: float = 10.0) -> None:
        """Stops one process and its children: SIGTERM, then SIGKILL. A process that ended is not an error."""
        if (record := self.table().get(name)) is not None:
            stop_supervisors([record])
            process = self.table()[name].process()  # the process that the supervisor recorded last
            stop_all([*([process] if process else []), *self.marked(name)], grace_seconds)
            self._kill_marked(name)
            (self.state.processes / f"{name}.json").unlink(missing_ok=True)

    def kill(self, name: str) -> None:
        """Kills one process, as the fault tests do, and removes its record, so that it is not restarted."""
        self.stop(name, grace_seconds=0.0)

    def stop_everything(self, grace_seconds: float = 5.0) -> list[str]:
        """Stops all processes of this sandbox; returns the processes that still run (normally none)."""
        stop_supervisors(self.table().values())
        polite = [row.process() for row in self.table().values() if row.graceful]
        stop_all([process for process in polite if process is not None], grace_seconds)
        self._kill_marked()
        for path in self.state.processes.glob("*.json"):
            path.unlink()
        return [f"{process.pid} {process.name()}" for process in self.marked()]

    def _kill_marked(self, name: str | None = None) -> None:
        """Kills marked processes until none is left: a process that is listed may start another before it is
        killed, and so may a supervisor without a record."""
        for _ in range(KILLS_MAX):
            if not (running := self.marked(name)):
                return
            stop_all(running, grace_seconds=0)

    def marked(self, name: str | None = None) -> list[psutil.Process]:
        """Returns processes with this sandbox's mark, even if a killed run did not record them; with
        a name, the processes that were started as that process, and their children."""
        return marked({MARK: str(self.state.root)} | ({PROCESS_MARK: name} if name else {}))


def _supervisor(record: ProcessRecord) -> psutil.Process | None:
    return record.supervisor.process() if record.supervisor else None


def stop_supervisors(records: Iterable[ProcessRecord]) -> None:
    """Kills the supervisors of these processes, so that they are not restarted."""
    stop_all([process for record in records if (process := _supervisor(record))], grace_seconds=0)


def _ended(record: ProcessRecord) -> StepError:
    how = f" ({exit_text(record.last_exit.code)})" if record.last_exit else ""
    log = Path(record.log)
    return StepError(f"{record.name} has ended{how}:\n{tail(log)}", log=log)


def exit_text(code: int) -> str:
    """Returns `exit 1`, or the signal's name for a negative code."""
    if code >= 0:
        return f"exit {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:  # a real-time signal
        return f"signal {-code}"


def stop_all(processes: Iterable[psutil.Process], grace_seconds: float) -> None:
    """Sends SIGTERM to each, and SIGKILL after the grace (0: only SIGKILL)."""
    # psutil compares pid and creation time before it sends a signal
    todo = list({process.pid: process for process in processes}.values())
    if grace_seconds > 0:
        _signal(todo, psutil.Process.terminate)
        _, todo = psutil.wait_procs(todo, timeout=grace_seconds)
    _signal(todo, psutil.Process.kill)
    psutil.wait_procs(todo, timeout=5)


def _signal(processes: Iterable[psutil.Process], send: Callable[[psutil.Process], None]) -> None:
    for process in processes:
        try:
            send(process)
        except psutil.NoSuchProcess:
            continue


def wait_until(
    what: str,
    ready: Callable[[], bool],
    timeout_seconds: float,
    check: Callable[[], None] = lambda: None,
    pause_seconds: float = 0.1,
) -> None:
    """Waits until `ready` returns True; `check` may raise if waiting longer is useless.

    Raises StepError with `what` on timeout.
    """
    deadline = time.monotonic() + timeout_seconds
    while not ready():
        check()
        if time.monotonic() > deadline:
            raise StepError(f"{what} did not happen within {timeout_seconds:.0f} s")
        time.sleep(pause_seconds)


def answers(url: str) -> bool:
    """Returns whether a loopback address responds with HTTP 200; never uses a proxy of the environment."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:  # URLError included
        return False


def listens(port: int) -> bool:
    """Returns whether something accepts connections on this loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
