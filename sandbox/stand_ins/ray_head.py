"""Runs a Ray head as a process, and kills all of its descendants when it ends.

Run as `python -m sandbox.stand_ins.ray_head FOLDER COMMAND...`. Ray's drivers and workers leave their process
group, but remain descendants of this process, which is their subreaper. On SIGTERM, or when the head or the
parent stand-in ends, it kills all of them, as at the end of a pod. The stand-in removes FOLDER after it has
read the logs; if the stand-in has ended, this process removes it.
"""

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
    """Kills descendants until none exist, as a process may start another just before it is killed."""
    process = psutil.Process()
    while children := process.children(recursive=True):
        for child in children:
            try:
                child.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(children, timeout=1)


def main(folder: str, command: list[str]) -> None:
    """Runs the command until it ends or this process must stop."""
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
