"""The executable that Kueue's runner starts as minimalkueue: runs an engine, and notes what it and the
control plane cost.

The runner's own figures would count this process too, and it stops the API server before any other process
could read the metrics: it waits for this one.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from tests.bench.kueue_harness.writes import writes

API_SERVER, ETCD = "kube-apiserver", "etcd"
COST, LOG = "cost.json", "engine.log"


@dataclass(frozen=True)
class Cost:
    """Measured from the start of an engine to its end; `writes` are requests by verb and kind."""

    wall_s: float
    cpu_s: float
    rss_mb: float
    api_cpu_s: float
    etcd_cpu_s: float
    writes: dict[str, int]


def main(folder: Path, kubectl: str, command: list[str]) -> int:
    """Runs the engine until the runner sends SIGINT; returns the engine's exit code."""
    beside = {process.name(): process for process in psutil.Process(os.getppid()).children()}
    control_plane = [beside[API_SERVER], beside[ETCD]]
    before = [_cpu(process) for process in control_plane]
    began = time.monotonic()
    with (folder / LOG).open("w") as log:
        child = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: os.kill(child.pid, number))
    _, status, used = os.wait4(child.pid, 0)
    wall_s = time.monotonic() - began
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the engine has ended, and its pid may be another's
    api_cpu_s, etcd_cpu_s = (_cpu(p) - was for p, was in zip(control_plane, before, strict=True))
    config = command[command.index("--kubeconfig") + 1]
    get = [kubectl, "--kubeconfig", config, "get", "--raw", "/metrics"]
    metrics = subprocess.run(get, check=True, capture_output=True, text=True).stdout
    cost = Cost(
        wall_s,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1024,
        api_cpu_s,
        etcd_cpu_s,
        writes(metrics),
    )
    (folder / COST).write_text(json.dumps(asdict(cost)))
    return os.waitstatus_to_exitcode(status)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
