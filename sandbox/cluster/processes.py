"""Background processes of one sandbox, identified by pid and start time, so that no other is ever signaled.

The kernel reuses pids; together with the creation time of the process a pid is unique.
"""

import json
import os
import random
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from sandbox.toolchain.paths import CHECKOUT, MARK, RunState
from sandbox.toolchain.steps import StepError, tail

NEW_SECONDS = 5.0  # a process may still be in its exec
EXEC_SECONDS_MAX = 1.0
KERNEL_THREADS = 2  # the process above them; they have no environment
LOWEST_PORT = 10_000  # of those that we choose; services have lower ones
EPHEMERAL_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


@dataclass(frozen=True)
class Supervised:
    """The record of one process in the run state.

    One that is not `graceful` is killed when the sandbox stops: the control plane's data is deleted anyway,
    and an API server takes ten seconds to shut down.
    """

    name: str
    pid: int
    created: float
    log: str
    graceful: bool = True

    def process(self) -> psutil.Process | None:
        """Returns the live process, or None if it ended, is a zombie, or the pid was reused."""
        return _live(self.pid, self.created)


def _live(pid: int, created: float) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - created) < 0.05
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


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
    ) -> Supervised:
        """Starts a process in its own session, with its output appended to the log.

        Raises StepError if one of that name already runs or the executable cannot be started.
        """
        self.state.make()
        if (old := self.table().get(name)) is not None and old.process() is not None:
            raise StepError(f"{name} already runs as process {old.pid}", try_this=self.state.command("down"))
        log = log or self.state.log(name)
        with log.open("a") as output:
            try:
                child = subprocess.Popen(
                    list(argv),
                    cwd=cwd or CHECKOUT,
                    env=self.environment(env),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise StepError(f"{name} cannot be started: {error}", log=log) from error
        child.returncode = 0  # it outlives this object; from now on psutil watches it by pid and start time
        return self.adopt(name, child.pid, log)

    def adopt(self, name: str, pid: int, log: Path, graceful: bool = True) -> Supervised:
        """Records a process that kwokctl or `start` started for this sandbox."""
        try:
            created = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess as error:
            raise StepError(f"{name} ended at once:\n{tail(log)}", log=log) from error
        supervised = Supervised(name, pid, created, str(log), graceful)
        self.state.make()
        path = self.state.processes / f"{name}.json"
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(asdict(supervised)) + "\n")
        unfinished.replace(path)
        return supervised

    def table(self) -> dict[str, Supervised]:
        """Returns every recorded process by name, whether it still runs or not."""
        files = sorted(self.state.processes.glob("*.json")) if self.state.processes.is_dir() else []
        rows = (Supervised(**json.loads(path.read_text())) for path in files)
        return {row.name: row for row in rows}

    def check(self, name: str) -> None:
        """Raises StepError with the end of its log if the process does not run."""
        supervised = self.table().get(name)
        if supervised is None:
            raise StepError(f"{name} was never started", try_this=self.state.command("status"))
        if supervised.process() is None:
            log = Path(supervised.log)
            raise StepError(f"{name} has ended:\n{tail(log)}", log=log)

    def stop(self, name: str, grace_seconds: float = 10.0) -> None:
        """Stops one process and its children: SIGTERM, then SIGKILL. A process that ended is not an error."""
        if (supervised := self.table().get(name)) is not None:
            if (process := supervised.process()) is not None:
                stop_all([process, *_session(process)], grace_seconds)
            (self.state.processes / f"{name}.json").unlink(missing_ok=True)

    def kill(self, name: str) -> None:
        """Kills one process at once, as the fault tests do, and removes its record."""
        self.stop(name, grace_seconds=0.0)

    def stop_everything(self, grace_seconds: float = 5.0) -> list[str]:
        """Stops all processes of this sandbox; returns those that could not be stopped (normally none)."""
        polite = [row.process() for row in self.table().values() if row.graceful]
        stop_all([process for process in polite if process is not None], grace_seconds)
        stop_all(self.marked(), grace_seconds=0)
        for path in self.state.processes.glob("*.json"):
            path.unlink()
        return [f"{process.pid} {process.name()}" for process in self.marked()]

    def marked(self) -> list[psutil.Process]:
        """Returns processes with this sandbox's mark, including those that a killed run did not record."""
        found = []
        for process in psutil.process_iter():
            try:
                marked = _environment(process).get(MARK) == str(self.state.root)
                if marked and process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found


def _environment(process: psutil.Process) -> Mapping[str, str]:
    """Returns its environment, which is empty for a moment after it was started: exec lets the parent go on
    before it has copied the environment."""
    until = time.monotonic() + EXEC_SECONDS_MAX
    while not (found := process.environ()):
        young = time.time() - process.create_time() < NEW_SECONDS
        if not young or process.ppid() == KERNEL_THREADS or time.monotonic() > until:
            break
        time.sleep(0.005)
    return found


def _session(leader: psutil.Process) -> list[psutil.Process]:
    """Returns the current descendants of a process."""
    try:
        return leader.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def stop_all(processes: Iterable[psutil.Process], grace_seconds: float) -> None:
    """Sends SIGTERM to each, and SIGKILL to those that still run after the grace (0: SIGKILL at once)."""
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


def free_port() -> int:
    """Returns a TCP port on loopback that is free now, below the kernel's ephemeral range: from that, the
    kernel may give it to an outgoing connection of any program before it is used."""
    low = int(EPHEMERAL_PORTS.read_text().split()[0])
    while True:
        port = random.randrange(LOWEST_PORT, low) if low > 2 * LOWEST_PORT else 0  # 0: the kernel chooses
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])


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
    """Whether a loopback address responds with HTTP 200; never uses a proxy of the environment."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:  # URLError included
        return False


def listens(port: int) -> bool:
    """Whether something accepts connections on this port of loopback."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
