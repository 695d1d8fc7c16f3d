"""The figures of one run: the summary of the runner, and the costs measured during it."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import yaml

from tests.bench.kueue_harness.engine import Cost


@dataclass(frozen=True)
class ClassMeans:
    """Workloads of one class: seconds from creation to admission and to finish, on average."""

    count: int
    to_admission_s: float
    to_finish_s: float
    evictions: int


@dataclass(frozen=True)
class Run:
    """`usage` is the share of the nominal quota that was used on average; `dropped_events` are changes of
    Workloads that the runner was too slow to record."""

    engine: str
    classes: dict[str, ClassMeans]
    usage: float
    dropped_events: int
    cost: Cost

    @property
    def workloads(self) -> int:
        return sum(priority_class.count for priority_class in self.classes.values())


def parse(engine: str, summary: str, states: str, cost: Mapping[str, Any]) -> Run:
    """Reads the runner's summary.yaml and wlStates.csv (Kueue: test/performance/scheduler/runner/recorder),
    and the costs."""
    read = yaml.safe_load(summary)
    classes = {
        name: ClassMeans(
            workloadclasse["count"],
            workloadclasse["averageTimeToAdmissionMs"] / 1000,
            workloadclasse["averageTimeToFinishMs"] / 1000,
            workloadclasse["totalEvictions"],
        )
        for name, workloadclasse in sorted(read["workloadClasses"].items())
    }
    dropped = read["droppedWorkloadEvents"]
    if dropped:
        rows = list(csv.DictReader(states.splitlines()))
        classes = {name: _of_timed(workloadclasse, name, rows) for name, workloadclasse in classes.items()}
    queues = read["clusterQueueClasses"].values()
    used = sum(workloadclasse["cpuAverageUsage"] for workloadclasse in queues) / sum(
        workloadclasse["nominalQuota"] for workloadclasse in queues
    )
    return Run(engine, classes, used, dropped, Cost(**cost))


def _of_timed(means: ClassMeans, name: str, rows: Sequence[Mapping[str, str]]) -> ClassMeans:
    """Returns the means of the workloads that the runner timed: it begins with the first change that it
    records, so a workload whose earlier changes were dropped has no wait in the runner's means."""
    timed = [row for row in rows if row["class name"] == name and row["ms to admitted"] != "0"]
    to_admission_s, to_finish_s = (
        [int(row[what]) / 1000 for row in timed if row[what] != "0"]
        for what in ("ms to admitted", "ms to finish")
    )
    return replace(means, to_admission_s=fmean(to_admission_s), to_finish_s=fmean(to_finish_s))


def problem(run: Run, states: str, generator: str) -> str:
    """Returns why a run's figures mean nothing, empty if they do.

    The runner also ends early if it is interrupted, or if the statuses of all ClusterQueues are empty;
    its means count an unfinished workload as one without a wait. `states` is its wlStates.csv, `generator`
    the file of the objects to create.
    """
    expected = workloads_of(generator)
    if run.workloads != expected:
        return f"it saw {run.workloads:,} of {expected:,} workloads"
    unfinished = sum(row["ms to finish"] == "0" for row in csv.DictReader(states.splitlines()))
    if unfinished > run.dropped_events:
        return f"it ended before {unfinished:,} of {expected:,} workloads were finished"
    return ""


def workloads_of(generator: str) -> int:
    """Returns how many workloads a configuration of the generator has."""
    return sum(
        cohorts["count"] * queues["count"] * of_queue["count"] * len(of_queue["workloads"])
        for cohorts in yaml.safe_load(generator)["cohorts"]
        for queues in cohorts["queuesSets"]
        for of_queue in queues["workloadsSets"]
    )
