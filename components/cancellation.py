"""Ends the program quietly when the engine cancels it."""

import os
import signal
import threading

# By this exit code the language host knows that the user has been told why (pulumi-language-python-exec).
SAID_ALREADY = 32


def end_quietly_when_cancelled() -> None:
    """Exit at once on SIGINT, by which the engine cancels a program, for instance as it violates a policy.

    Python's own answer is a traceback of KeyboardInterrupt. There is nothing to clean up: what was made is in
    the engine's state.
    """
    if threading.current_thread() is threading.main_thread():  # elsewhere, the host answers signals itself
        signal.signal(signal.SIGINT, lambda _signal, _frame: os._exit(SAID_ALREADY))
