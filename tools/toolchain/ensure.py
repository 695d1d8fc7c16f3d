"""Finds tools in the pinned version on PATH or in the cache; else downloads or builds them."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tools.platforms import this_platform
from tools.toolchain import build, downloaded
from tools.toolchain.download import Limits, unreachable
from tools.toolchain.plan import MIRROR_VARIABLE, VARIABLE, Way, chosen_way, mirrored, plan
from tools.toolchain.releases import ReleaseFile, pinned_file
from tools.toolchain.steps import Screen, StepError
from tools.toolchain.tools import TOOLS, Tool
from tools.toolchain.versions import runs_in_pinned_version

Source = Literal["PATH", "cache", "downloaded", "built"]


@dataclass(frozen=True)
class ReadyTool:
    """The path and source of an executable; `seconds` is the time of its download or build in this run."""

    tool: Tool
    path: Path
    source: Source
    seconds: float


def ensure_tools(names: Sequence[str], screen: Screen) -> dict[str, ReadyTool]:
    """Returns every named tool, ready to run.

    Raises StepError with the tool whose build fails, or whose download fails with MUSTER_TOOLS=download.
    """
    ready = {name: tool for name in names if (tool := find_tool(TOOLS[name])) is not None}
    missing = [TOOLS[name] for name in names if name not in ready]
    if missing:
        ready |= _obtain(missing, chosen_way(), screen, Limits())
    return {name: ready[name] for name in names}


def find_tool(tool: Tool) -> ReadyTool | None:
    """Returns a tool that is already available: on PATH in the right version, or in the cache.

    With MUSTER_TOOLS=build, downloaded tools are not used; with MUSTER_TOOLS=download, no built tool is used
    if its release file can be verified.
    """
    if (on_path := on_path_in_right_version(tool)) is not None:
        return ReadyTool(tool, on_path, "PATH", 0.0)
    way = chosen_way()
    from_release = None if way == "build" else downloaded.executable(tool, this_platform())
    from_source = None if way == "download" and from_release else build.executable(tool)
    for path in (from_release, from_source):
        if path is not None and path.exists():
            return ReadyTool(tool, path, "cache", 0.0)
    return None


def on_path_in_right_version(tool: Tool) -> Path | None:
    """Returns the tool on PATH if it prints exactly the pinned version."""
    on_path = shutil.which(tool.name)
    return Path(on_path) if on_path and runs_in_pinned_version(tool, Path(on_path)) else None


def _obtain(missing: Sequence[Tool], way: Way, screen: Screen, limits: Limits) -> dict[str, ReadyTool]:
    todo = plan(missing, way, _file_of, lambda urls: unreachable(urls, limits))
    screen.line(f"  {todo.line}")
    downloads, failures = downloaded.download_all(todo.downloads, screen, limits)
    if failures and way == "download":
        raise StepError(
            "\n".join(f"{name}: {reason}" for name, reason in failures.items()),
            try_this=f"run this again, set {MIRROR_VARIABLE}, or unset {VARIABLE} to build the tools",
        )
    for name, reason in failures.items():
        screen.line(f"  {name} is built: {reason}")
    to_build = [*todo.builds, *(TOOLS[name] for name in failures)]
    receipts = build.build_all(to_build, screen) if to_build else {}
    ready: dict[str, ReadyTool] = {}
    for name, download in downloads.items():
        path = downloaded.executable(TOOLS[name], this_platform())
        assert path is not None
        ready[name] = ReadyTool(TOOLS[name], path, "downloaded", download.seconds)
    for tool in to_build:
        receipt = receipts.get(tool.name)  # None if another run built it meanwhile
        source: Source = "built" if receipt else "cache"
        seconds = receipt.seconds if receipt else 0.0
        ready[tool.name] = ReadyTool(tool, build.executable(tool), source, seconds)
    return ready


def _file_of(tool: Tool) -> ReleaseFile | None:
    file = pinned_file(tool, this_platform())
    return replace(file, url=mirrored(file.url)) if file else None
