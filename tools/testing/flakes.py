"""`make flakes`: runs layers several times in random order on a busy machine, and names unreliable tests."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TextIO

from tools.testing.layers import LOGS, pytest_commands
from tools.testing.reports import read_outcomes
from tools.testing.runner import signal_group
from tools.toolchain.paths import CHECKOUT

USUAL = ("unit", "simulation", "stacks")
FOLDER = LOGS.with_name("flakes")
# Ends with its parent, even if the parent is killed.
BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    sum(range(1_000_000))"
MISSING = "not run"
STOP_S_MAX = 30.0

Outcomes = Mapping[str, str]  # by the test's name


def flakes(
    keys: Sequence[str], times: int, seed: int | None, out: TextIO, busy: int = os.cpu_count() or 1
) -> int:
    """Runs `times` rounds of the layers while `busy` other processes use the CPU; returns 1 if a test failed
    or had different outcomes."""
    first = secrets.randbelow(2**31) if seed is None else seed
    rounds: dict[int, dict[str, str]] = {}
    with load(busy):
        for number in range(times):
            seed = first + number
            rounds[seed] = {}
            for key in keys:
                print(f"round {number + 1} of {times}, seed {seed}: {key} ...", file=out, flush=True)
                rounds[seed] |= _run_layer(key, seed)
            print(
                f"round {number + 1} of {times}, seed {seed}: {_summary(rounds[seed])}", file=out, flush=True
            )
    flaky = unreliable(rounds)
    for name, outcomes in flaky.items():
        print(f"unreliable: {name}: {outcomes}", file=out)
    print(
        f"{len(flaky)} of {len(set().union(*rounds.values()))} tests are unreliable; logs: {FOLDER}", file=out
    )
    return 1 if flaky else 0


def _run_layer(key: str, seed: int) -> dict[str, str]:
    """Runs a layer in the order of this seed; a process that crashes counts as a failed test."""
    folder = FOLDER / f"{key}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = ("-p", "tools.testing.shuffle", f"--shuffle-seed={seed}", f"--hypothesis-seed={seed}")
    running: list[subprocess.Popen[bytes]] = []
    try:
        for number, command in enumerate(pytest_commands(key, folder, *options)):
            with (folder / f"{number}.log").open("w") as output:
                running.append(
                    subprocess.Popen(
                        command,
                        cwd=CHECKOUT,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )
        codes = [process.wait() for process in running]
    finally:  # also if interrupted
        _stop(running)
    outcomes: dict[str, str] = {}
    for report in sorted(folder.glob("*.xml")):
        outcomes |= read_outcomes(report)
    if set(codes) - {0, 1} or not outcomes:
        outcomes[f"layer {key} as a whole, exit codes {codes}"] = "failed"
    return outcomes


def _stop(running: Iterable[subprocess.Popen[bytes]]) -> None:
    """Interrupts running commands, so that they stop their own processes; kills them after a timeout."""
    for process in running:
        if process.poll() is None:
            signal_group(process, signal.SIGINT)
            try:
                process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                signal_group(process, signal.SIGKILL)
                process.wait()


def unreliable(rounds: Mapping[int, Outcomes]) -> dict[str, str]:
    """Returns the tests that failed or had different outcomes, with the seeds of each outcome."""
    flaky: dict[str, str] = {}
    for name in sorted(set().union(*rounds.values())):
        seeds: dict[str, list[int]] = {}
        for seed, outcomes in rounds.items():
            seeds.setdefault(outcomes.get(name, MISSING), []).append(seed)
        if len(seeds) > 1 or "failed" in seeds:
            parts = (f"{outcome} with {', '.join(map(str, of))}" for outcome, of in sorted(seeds.items()))
            flaky[name] = "; ".join(parts)
    return flaky


def _summary(outcomes: Outcomes) -> str:
    counts = Counter(outcomes.values())
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped"))


@contextmanager
def load(processes: int) -> Iterator[list[int]]:
    """Loads the CPU with this number of processes; yields their PIDs."""
    busy: list[subprocess.Popen[bytes]] = []
    parent = str(os.getpid())
    try:
        busy += (subprocess.Popen([sys.executable, "-c", BUSY, parent]) for _ in range(processes))
        yield [process.pid for process in busy]
    finally:
        for process in busy:
            process.kill()
            process.wait()
