"""The sandbox's other processes, restarted with the same command when they end, as on a node."""

from collections.abc import Collection
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
    """The processes that run at its creation, except controllers and nodes."""

    def __init__(self, processes: Processes, nodes: Collection[str] = ()) -> None:
        self._processes = processes
        self._commands: dict[str, _Command] = {}
        for name, row in processes.table().items():
            if (process := row.process()) is not None and name not in ("controller", *nodes):
                self._commands[name] = _of(process)

    def kill(self, name: str) -> None:
        self._processes.kill(name)

    def keep(self) -> None:
        """Restarts processes that have ended."""
        table = self._processes.table()
        for name, command in self._commands.items():
            row = table.get(name)
            if row is None or row.process() is None:
                self._processes.stop(name)  # its supervisor, if it waits for a back-off to end
                self._processes.start(name, command.argv, command.environment, cwd=command.folder)


def _of(process: psutil.Process) -> _Command:
    return _Command(process.cmdline(), process.environ(), Path(process.cwd()))
