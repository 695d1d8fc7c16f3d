"""Paths: the checkout, the cache that outlives it, and the run state of one sandbox."""

import re
from dataclasses import dataclass
from pathlib import Path

from sandbox.bootstrap import CHECKOUT, cache_directory

__all__ = ["CHECKOUT", "MARK", "PROCESS_MARK", "RunState", "cache_directory"]

NAME_VARIABLE = "MUSTER_NAME"
"""Environment variable with the name of the sandbox that commands mean where they are given none."""

MARK = "MUSTER_SANDBOX"
"""Environment variable of every process of a sandbox: the path of its run state."""

PROCESS_MARK = "MUSTER_PROCESS"
"""Environment variable of a process of a sandbox, and of those that it starts: its name in `status`."""


DEFAULTS = {"NAME": "local", "ENGINE": "muster"}
"""The values of the Makefile's variables that need not be typed."""


@dataclass(frozen=True)
class RunState:
    """The files of one sandbox of one checkout, under `.muster/<name>/`, ignored by git."""

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
        """The folder of everything below."""
        return self.checkout / ".muster" / self.name

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.root / "kubeconfig"

    @property
    def volumes(self) -> Path:
        """The folder with one folder per volume of the controller's pod, and per PersistentVolume."""
        return self.root / "volumes"

    @property
    def logs(self) -> Path:
        """The folder with one `<process>.log` per process."""
        return self.root / "logs"

    @property
    def processes(self) -> Path:
        """The folder with one `<process>.json` per supervised process."""
        return self.root / "processes"

    @property
    def timings(self) -> Path:
        """The file with the seconds of each step of the last `up`."""
        return self.root / "timings.json"

    def command(self, target: str, **variables: str) -> str:
        """Returns the command for this sandbox, as `make status NAME=mine`, without default values."""
        given = {"NAME": self.name, **variables}
        return " ".join(
            [
                "make",
                target,
                *(f"{key}={value}" for key, value in given.items() if value != DEFAULTS.get(key)),
            ]
        )

    def log(self, process: str) -> Path:
        """Returns the log file of one process."""
        return self.logs / f"{process}.log"

    def recording(self, scenario: str) -> Path:
        """Returns the file with the last run of a scenario, which `down` keeps."""
        return self.logs / f"scenario-{scenario}.json"

    def make(self) -> None:
        """Creates the folders."""
        for folder in (self.root, self.logs, self.processes):
            folder.mkdir(parents=True, exist_ok=True)
