"""Runs Kueue's performance harness with minimalkueue, then with Muster, and prints both side by side.

Exit code 1 if Muster misses a target.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from tests.bench.kueue_harness.figures import HEADS, figures
from tests.bench.kueue_harness.measured import Run
from tests.bench.kueue_harness.results import machine, save, title
from tests.bench.kueue_harness.run import CONFIGS, KUEUE, MUSTER, PROFILE, STATE, Programs, programs, run
from tests.bench.kueue_harness.targets import TARGETS
from tools.bootstrap import exclusive
from tools.toolchain.command import carry_out
from tools.toolchain.console import console, table
from tools.toolchain.steps import Screen


def main(arguments: Sequence[str]) -> int:
    chosen = _parser().parse_args(arguments)
    screen = Screen()
    using = programs(screen)
    screen.line(f"{machine()}, load {os.getloadavg()[0]:.1f} at the start")
    with exclusive(STATE.root / "lock", "figures of Kueue's performance harness"):
        runs = _rounds(chosen, using, screen)
    figure_list = figures(chosen.config, runs[MUSTER], runs[KUEUE])
    every = [result for done in runs.values() for result in done]
    heading = title(chosen.config, every)
    console().print(table(heading, HEADS, [figure.row() for figure in figure_list]))
    path = STATE.root / f"{chosen.config}.json"
    save(path, heading, figure_list, every)
    screen.line(f"saved: {path}")
    if chosen.profile:
        screen.line(f"profile of the controller (cProfile): {STATE.root / chosen.config / MUSTER / PROFILE}")
    missed = [figure.what for figure in figure_list if not figure.met]
    if TARGETS[chosen.config]:
        screen.line(f"missed: {'; '.join(missed)}" if missed else "every target is met")
    return 1 if missed else 0


def _rounds(chosen: argparse.Namespace, using: Programs, screen: Screen) -> dict[str, list[Run]]:
    """Returns the runs of each engine."""
    runs: dict[str, list[Run]] = {KUEUE: [], MUSTER: []}
    for number in range(1, chosen.times + 1):
        for engine, done in runs.items():
            done.append(run(engine, chosen.config, using, screen, chosen.profile))
            wall_s, count = done[-1].cost.wall_s, done[-1].workloads
            place = f"round {number} of {chosen.times}, {engine}"
            screen.line(f"{place}: {count:,} workloads in {wall_s:.1f} s")
    return runs


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench-kueue", description=__doc__)
    parser.add_argument("--config", choices=CONFIGS, default="baseline", help="(default: %(default)s)")
    parser.add_argument("--times", type=int, default=1, help="rounds; medians are shown (default: 1)")
    parser.add_argument(
        "--profile", action="store_true", help="also profile Muster's controller, which slows it"
    )
    return parser


if __name__ == "__main__":
    sys.exit(carry_out("bench-kueue", lambda: main(sys.argv[1:])))
