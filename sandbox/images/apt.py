"""Downloads Debian packages with their dependencies, and installs nothing on the machine.

apt runs with separate folders and without the machine's apt.conf, whose hooks would clear the machine's
archives. It reads the machine's sources, keys and network settings, and checks signatures and checksums.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.toolchain.steps import StepError

ERROR_LINES = 10
_INHERITED = ("Acquire::", "APT::Architecture ")


def download(packages: Sequence[str], folder: Path) -> list[Path]:
    """Returns the .deb files of the packages and of all their dependencies, sorted by name.

    The folder is empty before. Raises StepError if apt is missing, or a package can't be downloaded.
    """
    for program in ("apt-get", "apt-config", "dpkg-deb"):
        if shutil.which(program) is None:
            raise StepError(
                f"{program} is not installed: images of real nodes need Debian's packages",
                try_this="use a Debian or Ubuntu machine, or make up without NODES=real",
            )
    environment = {**os.environ, "APT_CONFIG": str(_configure(folder)), "DEBIAN_FRONTEND": "noninteractive"}
    updated = _apt(environment, "update")
    resolved = _apt(environment, "install", "--download-only", "--yes", *packages)
    if resolved.returncode != 0:
        # an update that fails for one of several sources still leaves the lists of the others
        raise _failure(packages, updated.stdout + resolved.stdout)
    return sorted((folder / "archives").glob("*.deb"))


def _configure(folder: Path) -> Path:
    for name in ("lists/partial", "archives/partial", "parts"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    inherited = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    path = folder / "apt.conf"
    path.write_text(configuration(inherited, folder))
    return path


def configuration(machine: str, folder: Path) -> str:
    """Returns the text of an apt.conf that keeps all state in the folder and takes the machine's network
    settings; `machine` is the output of `apt-config dump`."""
    lines = [line for line in machine.splitlines() if line.startswith(_INHERITED)]
    own = {
        "Dir::State": folder,
        "Dir::State::Lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder,
        "Dir::Cache::Archives": folder / "archives",
        "Dir::Etc::Main": "/dev/null",
        "Dir::Etc::Parts": folder / "parts",
        "APT::Sandbox::User": "root",  # the user _apt can't write to the cache folder of another user
        "APT::Install-Recommends": "false",
        "APT::Install-Suggests": "false",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
    }
    return "\n".join([*lines, *(f'{name} "{value}";' for name, value in own.items())]) + "\n"


def _apt(environment: Mapping[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["apt-get", "--quiet", *arguments],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _failure(packages: Sequence[str], output: str) -> StepError:
    lines = [line for line in output.splitlines() if re.match(r"[EW]: |Err:", line)] or output.splitlines()
    advice = "make the machine's Debian sources reachable (apt-get update), then run this again"
    shown = "\n".join(lines[-ERROR_LINES:])
    return StepError(f"apt-get can't download {' '.join(packages)}:\n{shown}", try_this=advice)
