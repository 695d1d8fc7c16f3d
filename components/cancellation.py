"""Ends the program quietly when the engine cancels it."""

import os
import signal
import threading

# The exit code that tells the language host that the error is already reported (pulumi-language-python-exec)
ALREADY_REPORTED = 32


def end_quietly_when_cancelled() -> None:
    """Exits at once on SIGINT, which the engine sends to cancel a program, as on a policy violation.

    By default, Python would print a traceback of KeyboardInterrupt. There is nothing to clean up: created
    resources are in the engine's state.
    """
    if threading.current_thread() is threading.main_thread():  # in other threads, the host handles signals
        signal.signal(signal.SIGINT, lambda _signal, _frame: os._exit(ALREADY_REPORTED))
