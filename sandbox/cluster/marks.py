"""Finds processes by variables of their environment, which their children inherit."""

import os
import time
from collections.abc import Mapping

import psutil

NEW_SECONDS = 5.0  # a process may still be in its exec
EXEC_SECONDS_MAX = 1.0
KERNEL_THREADS = 2  # the process above them; they have no environment


def marked(variables: Mapping[str, str]) -> list[psutil.Process]:
    """Returns the live processes with these environment variables, except this one."""
    matches = []
    for process in psutil.process_iter():
        try:
            alive = process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid()
            if alive and variables.items() <= _environment(process).items():
                matches.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return matches


def _environment(process: psutil.Process) -> Mapping[str, str]:
    """Returns the environment of a process; waits while it is empty after a start, as exec lets the parent
    continue before it has copied the environment."""
    until = time.monotonic() + EXEC_SECONDS_MAX
    while not (environment := process.environ()):
        young = time.time() - process.create_time() < NEW_SECONDS
        if not young or process.ppid() == KERNEL_THREADS or time.monotonic() > until:
            break
        time.sleep(0.005)
    return environment
