"""`logs`: prints the log of a process of the sandbox."""

from __future__ import annotations

import os

from sandbox.running import engine_of
from sandbox.scenario import ADMITTING
from sandbox.toolchain.paths import RunState
from sandbox.toolchain.steps import StepError


def logs(state: RunState, process: str | None, follow: bool, lines: int) -> int:
    """Prints the end of a process's log, by default the engine's; with `follow` until Ctrl-C.

    Raises StepError with the existing logs if the process has none.
    """
    log = state.log(process or ADMITTING[engine_of(state)][0])
    if not log.exists():
        there_are = sorted(path.stem for path in state.logs.glob("*.log") if path.exists())
        listed = f"; there are {', '.join(there_are)}" if there_are else ""
        remedy = state.command("logs", PROCESS=there_are[0]) if there_are else state.command("up")
        raise StepError(f"sandbox {state.name} has no log of {log.stem!r}{listed}", try_this=remedy)
    # -F: follows the new log after a restart of the process
    os.execvp("tail", ["tail", "-n", str(lines), *(["-F"] if follow else []), str(log)])
