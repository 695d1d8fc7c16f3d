"""`logs`: prints the log of a process of the sandbox."""

from __future__ import annotations

import os

from sandbox.running import engine_of
from sandbox.scenario import ADMITTING
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError


def logs(state: RunState, process: str | None, follow: bool, lines: int) -> int:
    """Prints the end of a process's log, by default the engine's; with `follow`, continues until Ctrl-C.

    Raises StepError with the names of existing logs if the process has none.
    """
    log = state.log(process or ADMITTING[engine_of(state)][0])
    if not log.exists():
        names = sorted(path.stem for path in state.logs.glob("*.log") if path.exists())
        choice = f"; choose one of {', '.join(names)}" if names else ""
        remedy = state.command("logs", PROCESS=names[0]) if names else state.command("up")
        raise StepError(f"sandbox {state.name} has no log of {log.stem!r}{choice}", try_this=remedy)
    # -F: follows the new log after a restart of the process
    os.execvp("tail", ["tail", "-n", str(lines), *(["-F"] if follow else []), str(log)])
