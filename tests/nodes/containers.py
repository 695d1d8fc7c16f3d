"""Kills processes in containers of real nodes, as the kernel or a crash would."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Sequence

import psutil

from sandbox.realnodes.cluster import NODES_FOLDER, node_pid
from tools.toolchain.paths import RunState

CommandLine = Sequence[str]


def is_controller(command: CommandLine) -> bool:
    """Returns whether a command line is that of Muster's controller."""
    return "muster" in command and "controller" in command


def is_kuberay(command: CommandLine) -> bool:
    """Returns whether a command line is that of KubeRay's operator."""
    return command[:1] == ["/manager"]


def kill(state: RunState, matches: Callable[[CommandLine], bool]) -> int:
    """Sends SIGKILL to all processes in the sandbox's nodes whose command lines match; returns how many."""
    killed = 0
    for folder in (state.root / NODES_FOLDER).iterdir():
        pid = node_pid(state, folder.name)
        for process in psutil.Process(pid).children(recursive=True) if pid else ():
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                if matches(process.cmdline()):
                    os.kill(process.pid, signal.SIGKILL)
                    killed += 1
    return killed
