"""Runs scenarios through Kueue and the core, and shrinks those on which they differ.

A difference counts if it recurs when the history is run again; a few of Kueue's decisions are
nondeterministic: which of two cycles receives a change first, and the order of two workloads created in
the same second.
"""

import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.conformance.differential import kueue_side
from tests.conformance.differential.found import save
from tests.conformance.differential.generate import scenario
from tests.conformance.differential.kueue_side import Progress
from tests.conformance.differential.scenario import CLASSICAL, FAIR, Scenario
from tests.conformance.differential.shrink import Disagreement, differing, shrunk
from tests.conformance.differential.stage import Play
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import Screen, StepError

TOGETHER = 100  # scenarios on the API server at the same time
DISAGREEMENTS = CHECKOUT / ".muster" / "disagreements"
INTERRUPTED = 130  # a shell's exit code after SIGINT

Player = Callable[[str, Sequence[Scenario], str], list[Play]]
"""Runs the scenarios of a mode concurrently, with names that begin with the third argument."""


@dataclass
class Counts:
    scenarios: int = 0
    steps: int = 0
    restless: int = 0
    by_chance: list[str] = field(default_factory=list)  # names of scenarios that differed only once

    def note(self, play: Play) -> None:
        self.scenarios += 1
        self.steps += len(play.before)
        self.restless += play.restless


def main(seeds: Sequence[int]) -> int:
    """Returns exit code 1 if the core differs from Kueue anywhere, 2 if the cluster cannot start."""
    screen = Screen()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops all processes on SIGTERM too
    try:
        return _main(seeds, screen)
    except StepError as error:
        screen.line(f"nothing was compared\n{error.explain()}")
        return 2
    except KeyboardInterrupt:
        screen.line("interrupted: all processes are stopped")
        return INTERRUPTED


def _main(seeds: Sequence[int], screen: Screen) -> int:
    begun, counts = time.monotonic(), Counts()
    with _player(screen) as play:
        runs = Runs(play)
        disagreements = runs.confirmed([scenario(seed) for seed in seeds], counts)
        seconds = time.monotonic() - begun
        for disagreement in disagreements:
            screen.line(f"{disagreement.scenario.name} ({disagreement.scenario.mode}) differs; shrinking it")
        smallest = shrunk(disagreements, partial(_smaller, runs, screen))
        for disagreement in smallest:
            _tell(disagreement, screen)
    screen.line(
        f"seeds {seeds[0]} to {seeds[-1]}: {counts.scenarios} histories, {counts.steps} steps compared in "
        f"{seconds:.0f} s; {counts.restless} histories stopped early, as Kueue preempts in a circle"
    )
    if counts.by_chance:
        screen.line(f"differed once, but not when run again: {', '.join(counts.by_chance)}")
    unknowable = sum(disagreement.recording.has_choosing_gang() for disagreement in smallest)
    if unknowable:
        screen.line(
            f"{unknowable} of the differences have a gang of several pod sets that can use several flavors: "
            "docs/conformance.md explains them"
        )
    screen.line(f"{counts.scenarios - len(disagreements)} agree, {len(disagreements)} disagree")
    return 1 if disagreements else 0


def _smaller(runs: "Runs", screen: Screen, scenarios: Sequence[Scenario]) -> list[Disagreement]:
    """Shrinks the differences; returns those found so far if the cluster fails."""
    try:
        return list(runs.compare(scenarios, Counts()))
    except StepError as error:
        screen.line(f"shrinking failed\n{error.explain()}")
        return []


@contextmanager
def _player(screen: Screen) -> Iterator[Player]:
    with (
        tempfile.TemporaryDirectory(prefix="muster-conformance-", ignore_cleanup_errors=True) as folder,
        kueue_side.cluster(RunState("conformance", checkout=Path(folder)), screen) as (processes, tools),
    ):
        begun = time.monotonic()
        progress: Progress = lambda text: screen.line(f"{time.monotonic() - begun:4.0f} s  {text}")  # noqa: E731

        def play(mode: str, scenarios: Sequence[Scenario], run: str) -> list[Play]:
            return kueue_side.play(processes, tools["kueue"], mode, scenarios, run, progress)

        yield play


def _tell(smallest: Disagreement, screen: Screen) -> None:
    name = smallest.recording.name
    path = DISAGREEMENTS / f"{name.replace(' ', '-')}.json"
    save(smallest.recording, path)
    screen.line(f"{name} ({smallest.recording.mode}), {len(smallest.scenario.steps)} steps: kept as {path}")
    for line in smallest.differences:
        screen.line(f"    {line}")


class Runs:
    """Runs scenarios; each run has its own names on the API server."""

    def __init__(self, play: Player) -> None:
        self._play, self._count = play, 0

    def confirmed(self, scenarios: Sequence[Scenario], counts: Counts) -> list[Disagreement]:
        """Returns the scenarios that differ twice."""
        suspects = [scenario.scenario for scenario in self.compare(scenarios, counts)]
        differences = list(self.compare(suspects, Counts()))
        again = {scenario.scenario.name for scenario in differences}
        counts.by_chance += [suspect.name for suspect in suspects if suspect.name not in again]
        return differences

    def compare(self, scenarios: Sequence[Scenario], counts: Counts) -> Iterator[Disagreement]:
        for mode in (CLASSICAL, FAIR):
            of_mode = [s for s in scenarios if s.mode == mode]
            for start in range(0, len(of_mode), TOGETHER):
                yield from self._together(mode, of_mode[start : start + TOGETHER], counts)

    def _together(self, mode: str, scenarios: Sequence[Scenario], counts: Counts) -> Iterator[Disagreement]:
        self._count += 1
        plays = self._play(mode, scenarios, f"r{self._count}s")
        for each_scenario, of in zip(plays, scenarios, strict=True):
            counts.note(each_scenario)
            disagreement = differing(each_scenario, of)
            if disagreement is not None:
                yield disagreement
