"""Runs steps in order, and shows the progress and duration of each."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

HEARTBEAT_SECONDS = 30.0
"""The interval at which a long step prints a line if there is no terminal."""


class StepError(Exception):
    """A failed step, explained for the user.

    `log` is the file with the details and `try_this` what to do next; both are optional.
    """

    def __init__(self, why: str, log: Path | None = None, try_this: str = "") -> None:
        super().__init__(why)
        self.log = log
        self.try_this = try_this

    def explain(self) -> str:
        """Returns the reason, the log and what to try, one line each."""
        lines = [f"  why: {self}"]
        if self.log is not None:
            lines.append(f"  log: {self.log}")
        if self.try_this:
            lines.append(f"  try: {self.try_this}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Step:
    """A step. `run` executes it and returns a short outcome; `summary` describes it."""

    name: str
    summary: str
    run: Callable[[], str]


@dataclass(frozen=True)
class Timing:
    """The duration of a step."""

    step: str
    seconds: float


@dataclass
class Screen:
    """Shows progress: a line that is rewritten on a terminal, plain lines otherwise."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    clock: Callable[[], float] = time.monotonic

    @property
    def live(self) -> bool:
        """True if a line can be rewritten in place."""
        return self.out.isatty()

    def line(self, text: str) -> None:
        """Prints a permanent line."""
        self.out.write(f"\r\x1b[K{text}\n" if self.live else f"{text}\n")
        self.out.flush()

    @contextmanager
    def activity(self, describe: Callable[[float], str]) -> Iterator[None]:
        """Shows `describe(elapsed seconds)` while the body runs."""
        began = self.clock()
        done = threading.Event()

        def show() -> None:
            period = 0.5 if self.live else HEARTBEAT_SECONDS
            while not done.wait(period):
                text = describe(self.clock() - began)
                self.out.write(f"\r\x1b[K{text}" if self.live else f"{text}\n")
                self.out.flush()

        thread = threading.Thread(target=show, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            if self.live:
                self.out.write("\r\x1b[K")
                self.out.flush()


def run_steps(steps: Sequence[Step], screen: Screen, before: Sequence[Timing] = ()) -> list[Timing]:
    """Runs the steps in order and shows them; `before` contains finished steps to show first.

    Prints a failed step and re-raises its StepError, which the caller explains.
    """
    timings: list[Timing] = []
    total = len(before) + len(steps)
    for number, timing in enumerate(before, start=1):
        screen.line(f"[{number}/{total}] {timing.step}: ready ({timing.seconds:.1f} s)")
        timings.append(timing)
    for number, step in enumerate(steps, start=len(before) + 1):
        place = f"[{number}/{total}] {step.name}"
        screen.line(f"{place}: {step.summary} ...")
        began = screen.clock()
        try:
            outcome = step.run()
        except StepError:
            screen.line(f"{place}: FAILED after {screen.clock() - began:.1f} s")
            raise
        seconds = screen.clock() - began
        timings.append(Timing(step.name, seconds))
        screen.line(f"{place}: {outcome} ({seconds:.1f} s)")
    return timings


def save_timings(path: Path, timings: Sequence[Timing], facts: dict[str, object]) -> None:
    """Writes the durations of the steps and facts about the run (engine, cores), which `bench` reads."""
    steps = [{"step": timing.step, "seconds": round(timing.seconds, 3)} for timing in timings]
    path.write_text(json.dumps({**facts, "steps": steps}, indent=2) + "\n")


def tail(log: Path, lines: int = 15) -> str:
    """Returns the end of a log, or a note if there is none."""
    if not log.exists():
        return "(no log was written)"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
