"""Runs a command: its arguments, its exit code, and messages if it fails or is interrupted."""

import argparse
import signal
import sys
from collections.abc import Callable
from types import FrameType

from muster.files.errors import FileError
from sandbox.toolchain.paths import RunState
from sandbox.toolchain.steps import StepError

FAILED = 1
INTERRUPTED = 130  # as in shells: 128 + SIGINT


def carry_out(name: str, command: Callable[[], int], still_running: str = "") -> int:
    """Runs `command` and returns its exit code; prints a StepError, a FileError or that it was interrupted.

    SIGTERM ends a command like Ctrl-C, so that its processes are stopped. `still_running` is added to the
    message if an interrupted command leaves processes behind.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return command()
    except StepError as error:
        print(f"{name} failed\n{error.explain()}", file=sys.stderr)
        return FAILED
    except FileError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted{still_running}", file=sys.stderr)
        return INTERRUPTED


def sandbox_named(name: str) -> RunState:
    """Returns the sandbox that an argument names; argparse prints why a name is invalid."""
    try:
        return RunState(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
