"""Runs builds side by side, and stops all of them if one fails or the run is interrupted."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tools.toolchain.estimate import Work, cpu_seconds

POLL_SECONDS = 0.2
BUILD_BYTES = 4 << 30
"""The memory of a build: compilers of large packages, and two linkers."""


@dataclass(frozen=True)
class Command:
    """A build to run; `label` is shown, `estimated` is its CPU time in seconds with an empty build cache.

    `argv` prints the name of each package that it compiles, and `listing` the names of all packages.
    """

    name: str
    label: str
    argv: Sequence[str]
    listing: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    log: Path
    estimated: float


@dataclass
class Run:
    """A running or finished build."""

    command: Command
    clock: Callable[[], float] = time.monotonic
    consumed: float = 0.0
    began: float = field(init=False)
    process: subprocess.Popen[bytes] = field(init=False)
    listing: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()
        self.process = self._start(self.command.argv, self.command.log)
        self.listing = self._start(self.command.listing, self._packages)

    def _start(self, argv: Sequence[str], output: Path) -> subprocess.Popen[bytes]:
        with output.open("w") as file:
            return subprocess.Popen(
                argv,
                cwd=self.command.folder,
                env=dict(self.command.environment),
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def _packages(self) -> Path:
        return self.command.log.with_suffix(".packages")

    def poll(self) -> int | None:
        """Returns the exit code, None while it runs. When it has ended, its CPU time is exact."""
        if self.process.returncode is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.consumed = usage.ru_utime + usage.ru_stime
                self.process.returncode = os.waitstatus_to_exitcode(status)
                _end(self.listing)
        return self.process.returncode

    @property
    def finished(self) -> bool:
        """True once it has ended."""
        return self.process.returncode is not None

    def measure(self) -> None:
        """Updates the consumed CPU time."""
        if not self.finished:
            self.consumed = max(self.consumed, cpu_seconds(self.process.pid))

    def compiled(self) -> float:
        """Returns the share of its packages that are compiled; 0 until their number is known."""
        if self.listing.poll() != 0:
            return 0.0
        return len(_names(self.command.log)) / max(1, len(_names(self._packages)))

    def stop(self) -> None:
        """Ends all processes of the build, such as its compilers."""
        _end(self.process)
        _end(self.listing)

    @property
    def seconds(self) -> float:
        """The time since its start."""
        return self.clock() - self.began


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _names(log: Path) -> list[str]:
    """Returns the lines that are names of packages: messages have spaces."""
    return [line for line in log.read_text(errors="replace").splitlines() if line and " " not in line]


def slots(cores: int, memory_bytes: int) -> int:
    """Returns how many builds run side by side.

    While one links, on one core, another compiles. More than two need more cores and 4 GB each.
    """
    return max(1, min(max(2, cores // 2) if cores > 1 else 1, memory_bytes // BUILD_BYTES))


def slots_here() -> int:
    """Returns how many builds run side by side on this machine, with the memory that is free now."""
    return slots(os.cpu_count() or 1, psutil.virtual_memory().available)


def compilers(cores: int, slots: int) -> int:
    """Returns how many compilers and linkers each build runs side by side: in total, two per core."""
    return max(1, min(cores, 2 * cores // slots))


@dataclass
class Builds:
    """Runs builds in order, up to `slots` at a time."""

    commands: Sequence[Command]
    slots: int
    start: Callable[[Command], Run] = Run
    pause: Callable[[], None] = lambda: time.sleep(POLL_SECONDS)
    runs: list[Run] = field(default_factory=list)

    def run(self, ended: Callable[[Run, int], None]) -> None:
        """Runs all builds. Calls `ended` with each exit code; if it raises an error, stops the others."""
        waiting = list(self.commands)
        running: list[Run] = []
        try:
            while waiting or running:
                while waiting and len(running) < self.slots:
                    running.append(self.start(waiting.pop(0)))
                    self.runs.append(running[-1])
                for build, code in [(build, build.poll()) for build in running]:
                    if code is not None:
                        running.remove(build)
                        ended(build, code)
                self.pause()
        finally:
            for build in running:
                build.stop()

    @property
    def running(self) -> list[str]:
        """The labels of running builds."""
        return [build.command.label for build in list(self.runs) if not build.finished]

    def works(self) -> list[Work]:
        """Returns the CPU time of each build, measured now."""
        runs = list(self.runs)
        for build in runs:
            build.measure()
        started = [
            Work(build.command.estimated, build.consumed, build.finished, build.compiled()) for build in runs
        ]
        return [*started, *(Work(command.estimated) for command in self.commands[len(runs) :])]
