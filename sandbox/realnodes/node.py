"""The process of a node on the machine: creates its namespaces, connects it, and ends with it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from sandbox.realnodes import cgroups
from sandbox.realnodes.node_settings import write_settings
from sandbox.realnodes.spec import read_spec
from sandbox.realnodes.switch import connect_node

INIT_SECONDS_MAX = 30.0
PR_SET_PDEATHSIG = 1
NAMESPACES = ("--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--mount-proc")


def main(path: Path) -> int:
    """Runs the node until it ends or this process is killed; returns the exit code."""
    spec = read_spec(path)
    write_settings(spec)
    cgroups.remove_when_empty(spec.control_group)  # left by a killed node
    cgroups.create(spec.control_group)
    argv = [sys.executable, "-m", "sandbox.realnodes.node_init", str(path)]
    unshare = subprocess.Popen(
        ["unshare", *NAMESPACES, "--kill-child=SIGKILL", "--", *argv], preexec_fn=_die_with_parent
    )
    signal.signal(signal.SIGTERM, lambda *_: unshare.kill())
    connect_node(spec.network_pid, _init_pid(unshare.pid), spec.number, spec.addresses)
    return unshare.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _init_pid(unshare_pid: int) -> int:
    """Returns the pid, on the machine, of the first process in the node."""
    deadline = time.monotonic() + INIT_SECONDS_MAX
    while not (children := psutil.Process(unshare_pid).children()):
        if time.monotonic() > deadline:
            sys.exit(f"unshare did not start a process within {INIT_SECONDS_MAX:.0f} s")
        time.sleep(0.02)
    pid = children[0].pid
    own = os.readlink("/proc/self/ns/net")
    while os.readlink(f"/proc/{pid}/ns/net") == own:
        time.sleep(0.02)
    return pid


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
