"""The sandbox's other processes: whichever ends is started again with the same command, as on a node."""

from dataclasses import dataclass
from pathlib import Path

import psutil

from sandbox.cluster.processes import Processes


@dataclass(frozen=True)
class _Command:
    argv: list[str]
    environment: dict[str, str]
    folder: Path


class Services:
    """Those that run when it is made, but for the controllers."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._commands: dict[str, _Command] = {}
        for name, row in processes.table().items():
            if (process := row.process()) is not None and name != "controller":
                self._commands[name] = _of(process)

    def kill(self, name: str) -> None:
        self._processes.kill(name)

    def keep(self) -> None:
        """Starts those that have ended."""
        table = self._processes.table()
        for name, command in self._commands.items():
            row = table.get(name)
            if row is None or row.process() is None:
                self._processes.start(name, command.argv, command.environment, cwd=command.folder)


def _of(process: psutil.Process) -> _Command:
    return _Command(process.cmdline(), process.environ(), Path(process.cwd()))
