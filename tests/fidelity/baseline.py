"""Kueue's own performance test as a forecast: the baseline of test/performance/scheduler in its repository.

The figures to compare with are averages of five runs that its maintainers give there for v0.19, with how long
the whole test takes: the load keeps the API server busy from beginning to end, so that is how long admissions
take.
"""

from collections import defaultdict
from dataclasses import replace
from statistics import mean
from typing import Any

import msgspec

from muster.forecast.configuration import from_manifests
from muster.forecast.placement import place
from muster.forecast.results.waits import waits_ms
from muster.forecast.simulation.simulator import Simulator
from muster.forecast.traces import kueue_generator
from sandbox.toolchain.console import console, table
from tests.fidelity.replay import AT_ONCE

COHORTS, QUEUES = 5, 6
# class, count in a queue, interval, run time, priority, CPUs, Kueue's average time to admission
SETS = (
    ("small", 350, 100, 200, 50, 1, 215.5),
    ("medium", 100, 500, 500, 100, 5, 76.8),
    ("large", 50, 1200, 1000, 200, 20, 16.5),
)


def generator() -> dict[str, Any]:
    """Returns the test's content."""
    sets = [
        {
            "count": count,
            "creationIntervalMs": interval,
            "workloads": [{"className": name, "runtimeMs": run, "priority": priority, "request": cpus}],
        }
        for name, count, interval, run, priority, cpus, _ in SETS
    ]
    queues = {
        "className": "cq",
        "count": QUEUES,
        "nominalQuota": 20,
        "borrowingLimit": 100,
        "reclaimWithinCohort": "Any",
        "withinClusterQueue": "LowerPriority",
        "workloadsSets": sets,
    }
    return {"cohorts": [{"className": "cohort", "count": COHORTS, "queuesSets": [queues]}]}


WORKLOADS = COHORTS * QUEUES * sum(count for _, count, *_ in SETS)
WALL_S = 351.1  # as the maintainers give it


def mean_waits_s(admission_s: float) -> dict[str, float]:
    """Returns the forecast's mean wait of each class."""
    made = kueue_generator.read(msgspec.json.encode(generator()).decode(), "baseline")
    queues = from_manifests("baseline", made.manifests)
    assumed = replace(AT_ONCE, admission_s=admission_s)
    outcome = Simulator(queues, place(made.trace.jobs, queues).jobs, assumed).run()
    found: dict[str, list[int]] = defaultdict(list)
    for job, wait_ms in zip(outcome.jobs, waits_ms(outcome), strict=True):
        assert wait_ms is not None
        found[job.name.rpartition("/")[2].partition("-")[0]].append(wait_ms)
    return {name: mean(waits) / 1000 for name, waits in found.items()}


def show_baseline() -> None:
    """Prints forecasts of the mean waits, with admissions at once and as slow as Kueue's, beside Kueue's."""
    pace_s = WALL_S / WORKLOADS
    at_once, paced = mean_waits_s(0), mean_waits_s(pace_s)
    rows = [
        (name, f"{at_once[name]:.1f} s", f"{paced[name]:.1f} s", f"{kueue_s:.1f} s")
        for name, *_, kueue_s in SETS
    ]
    heads = ("class", "at once", f"admission_s={pace_s:.4f}", "Kueue v0.19, its maintainers' average")
    title = f"Kueue's own baseline: {WORKLOADS:,} workloads in {COHORTS * QUEUES} queues, mean waits"
    console().print(table(title, heads, rows))
