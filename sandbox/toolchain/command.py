"""How every command ends: its exit code, and what is printed where it fails or is interrupted."""

import signal
import sys
from collections.abc import Callable
from types import FrameType

from sandbox.toolchain.steps import StepError

FAILED = 1
INTERRUPTED = 130  # as shells say it: 128 and SIGINT


def carry_out(name: str, command: Callable[[], int], still_running: str = "") -> int:
    """Runs `command` and returns its exit code; explains a StepError, and says that it was interrupted.

    SIGTERM ends a command like Ctrl-C, so that what it started is stopped. `still_running` is added to the
    message where an interrupted command leaves processes behind.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return command()
    except StepError as error:
        print(f"{name} failed\n{error.explain()}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted{still_running}", file=sys.stderr)
        return INTERRUPTED


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
