"""Checks that an executable is a tool in its pinned version."""

import os
import re
import subprocess
from pathlib import Path

from tools.toolchain.tools import Tool


def prints_version(tool: Tool, output: str) -> bool:
    """Returns whether the tool's output contains exactly the pinned version, with or without its v."""
    pinned = re.escape(tool.version.removeprefix("v"))
    return re.search(rf"(?<![\w.])v?{pinned}(?![\w.+-])", output) is not None


def runs_in_pinned_version(tool: Tool, executable: Path) -> bool:
    """Returns whether the executable runs and prints exactly the pinned version."""
    if tool.version_args is None:
        return False
    try:
        answer = subprocess.run(
            [str(executable), *tool.version_args],
            capture_output=True,
            text=True,
            timeout=20,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return False  # broken, or built for another platform
    return answer.returncode == 0 and prints_version(tool, answer.stdout)
