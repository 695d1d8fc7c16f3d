"""AccaSim, a simulator of HPC schedulers: the peer of forecasts, in its own environment."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.toolchain.python_environments import python_with

SCRIPT = Path(__file__).with_name("accasim_run.py")


def cpu_seconds(swf: Path, cores: int) -> float:
    """Returns the CPU seconds that AccaSim takes to read and simulate the file, first in, first out."""
    with TemporaryDirectory() as folder:
        command = [str(python_with("accasim")), str(SCRIPT), str(swf), str(cores), folder]
        output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return float(output.splitlines()[-1])
