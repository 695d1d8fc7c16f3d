"""Runs a measurement in a process with another copy of the package."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.toolchain.paths import CHECKOUT


def printed(module: str, arguments: Sequence[str], package: Path = CHECKOUT) -> str:
    """Returns what `main` of a module prints in a process that imports `muster` from this folder."""
    code = f"import sys; sys.path[:0] = [{str(package)!r}, {str(CHECKOUT)!r}]; "
    code += f"from {module} import main; main(sys.argv[1:])"
    command = [sys.executable, "-P", "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
