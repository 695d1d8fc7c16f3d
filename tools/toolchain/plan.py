"""Chooses for each missing tool whether its official release file is downloaded or it is built."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from tools.toolchain.releases import ReleaseFile
from tools.toolchain.steps import StepError
from tools.toolchain.tools import Tool

VARIABLE = "MUSTER_TOOLS"
"""Environment variable: `build` downloads nothing, and `download` fails if a pinned file is not available.
By default, pinned files are downloaded if their hosts answer."""
MIRROR_VARIABLE = "MUSTER_TOOLS_MIRROR"
"""Environment variable with the address of a mirror of the release hosts, below which each has a folder with
its name. Checksums stay the same."""

Way = Literal["", "build", "download"]


@dataclass(frozen=True)
class Plan:
    """The tools to download and to build; `line` lists them with the reason."""

    downloads: tuple[tuple[Tool, ReleaseFile], ...]
    builds: tuple[Tool, ...]
    line: str


def chosen_way(environment: Mapping[str, str] = os.environ) -> Way:
    """Returns the value of MUSTER_TOOLS. Raises StepError if it is not valid."""
    ways: dict[str, Way] = {"": "", "build": "build", "download": "download"}
    value = environment.get(VARIABLE, "")
    if value not in ways:
        raise StepError(f"{VARIABLE}={value}: expected build or download", try_this=f"unset {VARIABLE}")
    return ways[value]


def mirrored(url: str, environment: Mapping[str, str] = os.environ) -> str:
    """Returns the address of a release file, in the mirror if there is one."""
    mirror = environment.get(MIRROR_VARIABLE, "").rstrip("/")
    address = urlsplit(url)
    return f"{mirror}/{address.netloc}{address.path}" if mirror else url


def plan(
    missing: Sequence[Tool],
    way: Way,
    file_of: Callable[[Tool], ReleaseFile | None],
    unreachable: Callable[[Collection[str]], Mapping[str, str]],
) -> Plan:
    """Returns what to download and what to build.

    `unreachable` returns the addresses whose host does not answer, with the reason; it is called with one
    address per host. Raises StepError if files must be downloaded and a host does not answer.
    """
    if way == "build":
        return Plan((), tuple(missing), f"building {_names(missing)}: {VARIABLE}=build")
    files = {tool.name: file for tool in missing if (file := file_of(tool)) is not None}
    probes = {file.host: file.url for file in files.values()}
    refused = unreachable(list(probes.values())) if probes else {}
    reasons = {host: refused[url] for host, url in probes.items() if url in refused}
    because = "; ".join(f"{host} is not available ({reason})" for host, reason in sorted(reasons.items()))
    if because and way == "download":
        raise StepError(
            f"{VARIABLE}=download, but {because}",
            try_this=f"set {MIRROR_VARIABLE} to a mirror of it, or unset {VARIABLE} to build the tools",
        )
    downloads = [(t, files[t.name]) for t in missing if t.name in files and files[t.name].host not in reasons]
    downloaded = {tool.name for tool, _ in downloads}
    builds = [tool for tool in missing if tool.name not in downloaded]
    unpinned = [tool for tool in builds if tool.name not in files]
    parts = []
    if downloads:
        parts.append(f"downloading official release files of {_names([tool for tool, _ in downloads])}")
    if because:
        parts.append(f"building {_names([t for t in builds if t.name in files])}, as {because}")
    if unpinned:
        parts.append(f"building {_names(unpinned)}, as no release file has a pinned checksum")
    return Plan(tuple(downloads), tuple(builds), "; ".join(parts))


def _names(tools: Sequence[Tool]) -> str:
    return ", ".join(tool.name for tool in tools)
