"""Finds tools with the pinned version on PATH or in the cache; else builds them into the cache."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools.toolchain.build import build_all, executable
from tools.toolchain.steps import Screen
from tools.toolchain.tools import TOOLS, Tool

Source = Literal["PATH", "cache", "built"]


@dataclass(frozen=True)
class ReadyTool:
    """The path and source of an executable; `seconds` is the duration of its build in this run."""

    tool: Tool
    path: Path
    source: Source
    seconds: float


def ensure_tools(names: Sequence[str], screen: Screen) -> dict[str, ReadyTool]:
    """Returns every named tool, ready to run. Raises StepError with the tool whose build fails."""
    ready: dict[str, ReadyTool] = {}
    missing: list[Tool] = []
    for name in names:
        if (cached := find_tool(TOOLS[name])) is not None:
            ready[name] = cached
        else:
            missing.append(TOOLS[name])
    if missing:
        receipts = build_all(missing, screen)
        for tool in missing:
            receipt = receipts.get(tool.name)
            source: Source = "built" if receipt else "cache"
            ready[tool.name] = ReadyTool(tool, executable(tool), source, receipt.seconds if receipt else 0.0)
    return {name: ready[name] for name in names}


def find_tool(tool: Tool) -> ReadyTool | None:
    """Returns a tool that needs no build: on PATH in the right version, or in the cache."""
    if (on_path := on_path_in_right_version(tool)) is not None:
        return ReadyTool(tool, on_path, "PATH", 0.0)
    cached = executable(tool)
    return ReadyTool(tool, cached, "cache", 0.0) if cached.exists() else None


def prints_version(tool: Tool, output: str) -> bool:
    """Returns whether the tool's output contains exactly the pinned version, with or without its v."""
    pinned = re.escape(tool.version.removeprefix("v"))
    return re.search(rf"(?<![\w.])v?{pinned}(?![\w.+-])", output) is not None


def on_path_in_right_version(tool: Tool) -> Path | None:
    """Returns the tool on PATH if it prints exactly the pinned version."""
    on_path = shutil.which(tool.name)
    if on_path is None or tool.version_args is None:
        return None
    try:
        answer = subprocess.run(
            [on_path, *tool.version_args],
            capture_output=True,
            text=True,
            timeout=20,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None  # broken, or built for another machine
    return Path(on_path) if answer.returncode == 0 and prints_version(tool, answer.stdout) else None
