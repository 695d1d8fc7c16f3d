"""Runs a command, with its exit code and with messages if it fails or is interrupted."""

import argparse
import signal
import sys
from collections.abc import Callable
from types import FrameType

from muster.files.errors import FileError
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError

FAILED = 1
INTERRUPTED = 130  # as in shells: 128 + SIGINT


def carry_out(name: str, command: Callable[[], int], still_running: str = "") -> int:
    """Runs `command` and returns its exit code; prints StepErrors, FileErrors and interruptions.

    SIGTERM ends a command like Ctrl-C, so that its processes are stopped. `still_running` is appended to the
    message of an interruption.
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
    """Returns the sandbox with the name in an argument; argparse prints the error of an invalid name."""
    try:
        return RunState(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
