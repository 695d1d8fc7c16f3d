"""Scores estimates of starts in clusters that were not seen before: `python -m tests.fidelity.estimates`.

Each world (`worlds.py`) is played, and starts are estimated as `muster eta` and the controller's annotations
estimate them, with the record until that moment. Prints how many of the starts were between the 10th and the
90th percentile, and the bias of the median, by age of the estimate, past jobs, class, size and pattern. The
exit code is 3 if all estimates, or those of an age, a number of past jobs, a class or a size, miss a target.
"""

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from muster.cli.screen import show
from muster.forecast.backtest.coverage import AGES, OLDER, Coverage, age_of, coverage
from muster.forecast.backtest.rolling import Backtest, PastEstimate, backtested
from muster.forecast.cores import worker_processes
from muster.forecast.report.tables import Table
from muster.forecast.report.text import duration
from muster.forecast.results.waits import size_of
from tests.fidelity.worlds import world

WITHIN_MIN, WITHIN_MAX, BIAS_MAX = 0.75, 0.90, 0.10
MISSED = 3
FUTURES = 20
COUNTED_MIN = 60
"""Groups with fewer estimates say little, and have no target."""
PAST = ((0, "none"), (9, "1 to 9"), (49, "10 to 49"))
MORE = "50 or more"
EVERY_MS = 1
"""The record is read again for each estimate."""
PATTERN = "pattern"
"""A dimension without a target: a few worlds deviate together."""


class Group(NamedTuple):
    """Estimates that are counted together."""

    dimension: str
    value: str


class Scored(NamedTuple):
    """An estimate with its groups."""

    estimate: PastEstimate
    groups: tuple[Group, ...]


def scored(seed: int, samples: int) -> list[Scored]:
    """Plays a world, and estimates starts at the submission of some jobs, for these and for waiting ones."""
    of = world(seed)
    ended = sorted(a.released_ms for attempts in of.run.attempts.values() for a in attempts if a.is_last)
    test = Backtest(of.run, of.configuration, range(FUTURES), EVERY_MS, samples)
    _, arrivals, tail = of.name.split()
    return [
        Scored(
            _plain(estimate),
            (
                Group("", "all estimates"),
                Group("age", age_of(estimate.age_ms)),
                Group("past jobs", _past(sum(at_ms < estimate.at_ms for at_ms in ended))),
                Group("class", estimate.of_job.job.priority_class),
                Group("size", size_of(estimate.of_job.job)),
                Group(PATTERN, arrivals),
                Group(PATTERN, tail),
            ),
        )
        for estimate in backtested(test)
    ]


def _plain(estimate: PastEstimate) -> PastEstimate:
    """Returns an estimate without the core's values, which another process cannot read if compiled."""
    of_job = estimate.of_job
    return replace(estimate, of_job=replace(of_job, job=replace(of_job.job, pod_sets=())))


def _past(count: int) -> str:
    return next((name for most, name in PAST if count <= most), MORE)


def by_group(every: Sequence[Scored]) -> Mapping[Group, Coverage]:
    """Returns the coverage of each group."""
    groups: dict[Group, list[PastEstimate]] = defaultdict(list)
    for estimate, of in every:
        for group in of:
            groups[group].append(estimate)
    return {group: coverage(groups[group]) for group in sorted(groups, key=_order)}


def _order(group: Group) -> tuple[int, int, str]:
    dimensions = ("", "age", "past jobs", "class", "size", PATTERN)
    names = [*(name for _, name in AGES), OLDER, *(name for _, name in PAST), MORE]
    value = names.index(group.value) if group.value in names else 0
    return dimensions.index(group.dimension), value, group.value


def missed(groups: Mapping[Group, Coverage]) -> Iterator[str]:
    """Yields the targets that groups with enough estimates miss."""
    for group, of in groups.items():
        if of.estimates < COUNTED_MIN or group.dimension == PATTERN:
            continue
        name = f"{group.dimension} {group.value}".strip()
        if not WITHIN_MIN <= of.within <= WITHIN_MAX:
            yield f"{name}: {of.within:.0%} within, expected {WITHIN_MIN:.0%} to {WITHIN_MAX:.0%}"
        if abs(of.bias) >= BIAS_MAX:
            yield f"{name}: bias {of.bias:+.0%}, expected less than {BIAS_MAX:.0%}"


def table(groups: Mapping[Group, Coverage]) -> Table:
    rows = [
        (
            group.dimension,
            group.value,
            f"{of.estimates:,}",
            f"{of.within:.0%}",
            f"{of.before:,}",
            f"{of.after:,}",
            f"{of.bias:+.0%}",
            f"{of.later:.0%}",
            duration(of.wait_s),
        )
        for group, of in groups.items()
    ]
    columns = ("GROUP", "", "ESTIMATES", "WITHIN", "BEFORE", "AFTER", "BIAS", "LATER", "WAIT")
    return Table(
        "Starts and their estimates, in clusters that were not seen before", columns, rows, numbers=2
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fidelity.estimates", description=__doc__)
    parser.add_argument("--worlds", type=int, default=40, help="number of worlds (40)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first world (0)")
    parser.add_argument("--samples", type=int, default=6, help="moments of estimates in each world (6)")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="number of processes")
    chosen = parser.parse_args(arguments)
    seeds = range(chosen.first, chosen.first + chosen.worlds)
    with worker_processes(chosen.processes) as pool:
        worlds = list(pool.map(scored, seeds, [chosen.samples] * len(seeds)))
    groups = by_group([estimate for of in worlds for estimate in of])
    show([table(groups)])
    of_targets = list(missed(groups))
    print("\n".join(("missed:", *of_targets)) if of_targets else "every target is met")
    return MISSED if of_targets else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
