"""Kueue's own performance test as a forecast: the baseline of test/performance/scheduler in its repository.

The figures to compare with are averages of five runs that its maintainers give there for v0.19.
"""

from collections import defaultdict
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


def mean_waits_s() -> dict[str, float]:
    """Returns the forecast's mean wait of each class, if decisions take no time."""
    made = kueue_generator.read(msgspec.json.encode(generator()).decode(), "baseline")
    queues = from_manifests("baseline", made.manifests)
    outcome = Simulator(queues, place(made.trace.jobs, queues).jobs, AT_ONCE).run()
    found: dict[str, list[int]] = defaultdict(list)
    for job, wait_ms in zip(outcome.jobs, waits_ms(outcome), strict=True):
        assert wait_ms is not None
        found[job.name.rpartition("/")[2].partition("-")[0]].append(wait_ms)
    return {name: mean(waits) / 1000 for name, waits in found.items()}


def show_baseline() -> None:
    waits_s = mean_waits_s()
    rows = [(name, f"{waits_s[name]:.1f} s", f"{kueue_s:.1f} s") for name, *_, kueue_s in SETS]
    heads = ("class", "forecast, decisions at once", "Kueue v0.19, its maintainers' average")
    console().print(table("Kueue's own baseline: 15,000 workloads in 30 queues, mean waits", heads, rows))
