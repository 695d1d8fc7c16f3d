"""The process of a node on the machine: creates its namespaces, connects it, and ends with it."""

import ctypes
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from sandbox.cluster.processes import wait_until
from sandbox.realnodes import cgroups
from sandbox.realnodes.namespaces import UNSHARE
from sandbox.realnodes.node_settings import write_settings
from sandbox.realnodes.spec import read_spec
from sandbox.realnodes.switch import connect_node

INIT_SECONDS_MAX = 30.0
PR_SET_PDEATHSIG = 1


def main(path: Path) -> int:
    """Runs the node until it ends or this process is killed; returns the exit code."""
    spec = read_spec(path)
    write_settings(spec)
    cgroups.remove_when_empty(spec.control_group)  # left by a killed node
    cgroups.create(spec.control_group)
    argv = [sys.executable, "-m", "sandbox.realnodes.node_init", str(path)]
    unshare = subprocess.Popen([*UNSHARE, "--kill-child=SIGKILL", "--", *argv], preexec_fn=_die_with_parent)
    signal.signal(signal.SIGTERM, lambda *_: unshare.kill())
    connect_node(spec.network_pid, _init_pid(unshare.pid), spec.number, spec.addresses)
    return unshare.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _init_pid(unshare_pid: int) -> int:
    """Returns the pid, on the machine, of the first process in the node, which has all namespaces."""
    process = psutil.Process(unshare_pid)
    wait_until("the first process of the node", lambda: bool(process.children()), INIT_SECONDS_MAX)
    return int(process.children()[0].pid)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
