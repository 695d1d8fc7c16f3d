"""AccaSim, a simulator of HPC schedulers: the peer of forecasts, in an environment of its own."""

import hashlib
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.bootstrap import cache_directory
from sandbox.toolchain.paths import CHECKOUT

LOCK = CHECKOUT / "requirements-accasim.lock"
SCRIPT = Path(__file__).with_name("accasim_run.py")


def cpu_seconds(swf: Path, cores: int) -> float:
    """Returns the CPU seconds that AccaSim takes to read and simulate the file, first in, first out."""
    with TemporaryDirectory() as folder:
        command = [str(_python()), str(SCRIPT), str(swf), str(cores), folder]
        output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return float(output.splitlines()[-1])


def _python() -> Path:
    """Creates its environment in the cache, once for each version of the lock file."""
    key = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    environment = cache_directory() / "environments" / f"accasim-{key}"
    python = environment / "bin" / "python"
    if not (environment / "done").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
        install = ["-m", "pip", "install", "--quiet", "--require-hashes", "--requirement", str(LOCK)]
        subprocess.run([str(python), *install], check=True)
        (environment / "done").touch()
    return python
