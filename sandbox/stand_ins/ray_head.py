"""Runs a Ray head as a process, and ends everything that it started.

Run as `python -m sandbox.stand_ins.ray_head FOLDER COMMAND...`. Ray's drivers and workers leave their process
group, but stay descendants of this process, which is their subreaper. On SIGTERM, or when the head or the
stand-in that started it ends, it kills all of them, as the end of a pod does. The stand-in removes FOLDER
after it has read the logs; if it has ended, this process does.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time

import psutil

PR_SET_CHILD_SUBREAPER = 36
LOOK_SECONDS = 0.2


def kill_descendants() -> None:
    """Kills all descendants until none is left: a killed process may have started another one just before."""
    me = psutil.Process()
    while children := me.children(recursive=True):
        for child in children:
            try:
                child.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(children, timeout=1)


def main(folder: str, command: list[str]) -> None:
    """Runs the command until it ends, or this process is told to."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopped.append(number))
    parent = os.getppid()
    head = subprocess.Popen(command)
    while not stopped and head.poll() is None and os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    kill_descendants()
    if os.getppid() != parent:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
