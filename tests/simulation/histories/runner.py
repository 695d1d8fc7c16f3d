"""Plays histories on all cores, and saves failing ones after shortening them."""

import gc
import time
from collections import Counter
from collections.abc import Iterable
from multiprocessing import get_context
from pathlib import Path

from msgspec.structs import replace

from tests.simulation.histories import history as histories
from tests.simulation.histories.generate import generate
from tests.simulation.histories.minimise import minimise
from tests.simulation.histories.play import Failure, play

FOLDER = Path(".muster/fuzz")
PROGRESS_S = 5.0
WORKERS = 2  # as many as CI has cores
GARBAGE_MAX = 100_000  # objects before a collection: a history makes and drops many


def replay(path: Path) -> int:
    failure = play(histories.read(path))
    print(f"{path}: {f'{failure.rule}: {failure.message}' if failure else 'nothing broke'}")
    return 1 if failure else 0


def fuzz(seeds: range, without: tuple[str, ...], failures_max: int) -> int:
    """Plays all seeds, or until `failures_max` different rules broke; returns 1 if any did."""
    broken: dict[str, tuple[int, Failure]] = {}
    counts: Counter[str] = Counter()
    began = last_report_s = time.monotonic()
    with get_context("spawn").Pool(WORKERS, gc.set_threshold, (GARBAGE_MAX,)) as pool:
        results = pool.imap_unordered(run_seed, ((seed, without) for seed in seeds), chunksize=4)
        for played, (seed, failure) in enumerate(results, start=1):
            if failure is not None:
                counts[failure.rule] += 1
                broken.setdefault(failure.rule, (seed, failure))
            if time.monotonic() > last_report_s + PROGRESS_S or played == len(seeds):
                last_report_s = time.monotonic()
                print(
                    f"{played} of {len(seeds)} histories, {last_report_s - began:.0f} s: {_say(counts)}",
                    flush=True,
                )
            if len(broken) >= failures_max:
                break
        pool.terminate()
    for seed, failure in broken.values():
        _keep(seed, failure, without)
    return 1 if broken else 0


def run_seed(task: tuple[int, tuple[str, ...]]) -> tuple[int, Failure | None]:
    seed, without = task
    return seed, play(generate(seed, without))


def _say(counts: Counter[str]) -> str:
    return ", ".join(f"{n} break {rule!r}" for rule, n in counts.items()) or "none broke anything"


def _keep(seed: int, failure: Failure, without: Iterable[str]) -> None:
    """Shortens and saves the history of a seed."""
    whole = generate(seed, tuple(without))
    print(f"seed {seed}: {failure.rule}: {failure.message.splitlines()[0]}; shortening it ...", flush=True)
    short = minimise(whole, failure.rule)
    again = play(short) or failure
    first = again.message.splitlines()[0]
    path = FOLDER / f"{failure.rule.replace(' ', '_')}-{seed}.json"
    histories.write(replace(short, broke=f"{again.rule}: {first}"), path)
    print(f"{len(whole.actions)} actions became {len(short.actions)}: make fuzz REPLAY={path}", flush=True)
