"""Runs test layers: CPU-bound layers in sequence, in parallel with layers that wait.

Each command has its own process group, and each layer its own log.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TextIO

from tools.testing.layers import LOGS, Layer
from tools.testing.reports import Counts, read_counts, read_failures
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import tail

NICE = ("nice", "-n", "10")
"""Prefix of CPU-bound commands that run in parallel with clusters, so that the clusters get the CPU first."""

FAILURES_MAX = 20
"""Number of failed tests in the summary; the logs have all."""

STOP_SECONDS = 30.0
"""Grace period after an interruption: pytest's fixtures need time to stop their clusters."""


@dataclass
class _Run:
    """State of one run of all layers, shared by its threads."""

    out: TextIO
    lock: threading.Lock = field(default_factory=threading.Lock)
    children: list[subprocess.Popen[str]] = field(default_factory=list)
    stopped: bool = False

    def print(self, text: str) -> None:
        with self.lock:
            print(text, file=self.out, flush=True)

    def stop(self) -> None:
        """Interrupts all commands, kills them after a grace period, and prevents further commands."""
        with self.lock:
            self.stopped = True
            running = [child for child in self.children if child.returncode is None]
        for child in running:
            signal_group(child, signal.SIGINT)
        until = time.monotonic() + STOP_SECONDS
        while time.monotonic() < until and any(child.returncode is None for child in running):
            time.sleep(0.05)
        for child in running:
            if child.returncode is None:
                signal_group(child, signal.SIGKILL)


def run_layers(layers: Sequence[Layer], out: TextIO) -> int:
    """Runs all layers, even after a failure; returns the exit code.

    The summary lists the failed layers and tests. The last line is `N passed, N failed, N skipped`, summed
    over the pytest layers.
    """
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    run, began = _Run(out), time.monotonic()
    numbered = [(f"[{n}/{len(layers)}] {layer.name}", layer) for n, layer in enumerate(layers, start=1)]
    lanes = [lane for waits in (False, True) if (lane := [n for n in numbered if n[1].waits == waits])]
    failed: list[str] = []

    def follow(lane: Sequence[tuple[str, Layer]]) -> None:
        for place, layer in lane:
            before = NICE if len(lanes) > 1 and not layer.waits else ()
            if not run.stopped and not _run_layer(run, place, layer, before):
                failed.append(layer.name)

    with ThreadPoolExecutor(len(lanes)) as threads:
        try:
            for done in [threads.submit(follow, lane) for lane in lanes]:
                done.result()
        except BaseException:  # including Ctrl-C
            run.stop()
            raise
    reports = sorted(LOGS.glob("*.xml"))
    counts = sum(map(read_counts, reports), Counts())
    if len(layers) > 1:
        run.print(f"all layers: {time.monotonic() - began:.1f} s")
    if failed:
        run.print(f"failed: {', '.join(failed)}")
        for failure in [line for report in reports for line in read_failures(report)][:FAILURES_MAX]:
            run.print(f"  {failure}")
    run.print(str(counts))
    return 1 if failed else 0


def _run_layer(run: _Run, place: str, layer: Layer, before: tuple[str, ...]) -> bool:
    """Runs the commands of one layer and prints the result; returns whether all commands passed."""
    run.print(f"{place} ...")
    began, log = time.monotonic(), LOGS / f"{layer.key}.log"

    def streamed(command: tuple[str, ...]) -> tuple[bool, float]:
        with log.open("a") as file:
            file.write(f"$ {' '.join(command)}\n")

            def take(line: str) -> None:
                file.write(line)
                file.flush()
                if layer.live:
                    run.print(f"    {layer.key}: {line.rstrip()}")

            return _run(run, (*before, *command), take)

    def collected(command: tuple[str, ...]) -> tuple[bool, float]:
        lines = [f"$ {' '.join(command)}\n"]

        def take(line: str) -> None:
            lines.append(line)
            if layer.live:
                run.print(f"    {layer.key}: {line.rstrip()}")

        answer = _run(run, (*before, *command), take)
        with run.lock, log.open("a") as file:
            file.writelines(lines)
        return answer

    with ThreadPoolExecutor(len(layer.commands) if layer.together else 1) as threads:
        results = list(threads.map(collected if layer.together else streamed, layer.commands))
    passed, cpu_s = all(ok for ok, _ in results), sum(seconds for _, seconds in results)
    took = f"{time.monotonic() - began:.1f} s, {cpu_s:.0f} s of processor time"
    run.print(f"{place}: {'ok' if passed else 'FAILED'} ({took})")
    if not passed:
        run.print(f"  log: {log}" + ("" if layer.live else f"\n{tail(log, lines=40)}"))
    return passed


def _run(run: _Run, command: tuple[str, ...], take: Callable[[str], None]) -> tuple[bool, float]:
    """Runs one command and passes each line of its output to `take`; returns whether it exited with 0, and
    the CPU time of its process tree."""
    with run.lock:
        if run.stopped:
            return False, 0.0
        child = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        run.children.append(child)
    assert child.stdout is not None
    with child.stdout as lines:
        for line in lines:
            take(line)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode == 0, used.ru_utime + used.ru_stime


def signal_group(child: subprocess.Popen[Any], number: signal.Signals) -> None:
    """Sends a signal to all processes in the process group of a command."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)
