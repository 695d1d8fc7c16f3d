"""Paths of the checkout, of the cache that outlives it, and of the files of a sandbox."""

import re
from dataclasses import dataclass
from pathlib import Path

from tools.bootstrap import CHECKOUT, cache_directory

__all__ = ["CHECKOUT", "MARK", "PROCESS_MARK", "RunState", "cache_directory"]

NAME_VARIABLE = "MUSTER_NAME"
"""Environment variable with the default sandbox name of commands."""

MARK = "MUSTER_SANDBOX"
"""Environment variable of all processes of a sandbox, with the path of its run state."""

PROCESS_MARK = "MUSTER_PROCESS"
"""Environment variable of a process of a sandbox and of its children: the name of the process in `status`."""


DEFAULTS = {"NAME": "local", "ENGINE": "muster"}
"""The default values of the Makefile's variables."""


@dataclass(frozen=True)
class RunState:
    """The files of a sandbox, in the checkout's folder `.muster/<name>/`, which git ignores."""

    name: str = DEFAULTS["NAME"]
    checkout: Path = CHECKOUT

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z]([-a-z0-9]{0,30}[a-z0-9])?", self.name):
            raise ValueError(
                f"--name {self.name!r}: expected at most 32 lower-case letters, digits and dashes, "
                "starting with a letter; for example: local"
            )

    @property
    def root(self) -> Path:
        """The folder of all other paths."""
        return self.checkout / ".muster" / self.name

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.root / "kubeconfig"

    @property
    def volumes(self) -> Path:
        """The folder with a subfolder for each volume of the controller's pod and each PersistentVolume."""
        return self.root / "volumes"

    @property
    def logs(self) -> Path:
        """The folder with a `<process>.log` for each process."""
        return self.root / "logs"

    @property
    def processes(self) -> Path:
        """The folder with a `<process>.json` for each supervised process."""
        return self.root / "processes"

    @property
    def timings(self) -> Path:
        """The file with the durations of the steps of the last `up`."""
        return self.root / "timings.json"

    def command(self, target: str, **variables: str) -> str:
        """Returns a command for this sandbox, such as `make status NAME=mine`; omits default values."""
        assignments = {"NAME": self.name, **variables}
        return " ".join(
            [
                "make",
                target,
                *(f"{key}={value}" for key, value in assignments.items() if value != DEFAULTS.get(key)),
            ]
        )

    def log(self, process: str) -> Path:
        """Returns the log file of a process."""
        return self.logs / f"{process}.log"

    def make(self) -> None:
        """Creates the folders."""
        for folder in (self.root, self.logs, self.processes):
            folder.mkdir(parents=True, exist_ok=True)
