"""Kueue's own performance test as a case: the baseline of test/performance/scheduler in its repository.

Its load keeps the API server busy from beginning to end, so two figures are measured before, with a burst of
small workloads: how long an admission takes there, and how long a submission does, of which each of the
test's clients makes one after the other. The forecast precedes Kueue's run, and uses only these figures.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

import yaml

from muster.forecast.placement import PlacedJob, place
from muster.forecast.queue_objects import from_manifests
from muster.forecast.results.waits import waits_ms
from muster.forecast.simulation.simulator import Simulator
from muster.forecast.traces import kueue_generator
from tests.bench.kueue_harness.run import KUEUE, Programs, Progress, programs, run
from tests.fidelity.replay import AT_ONCE
from tools.toolchain.console import console, table
from tools.toolchain.steps import Screen


@dataclass(frozen=True)
class Pace:
    """Seconds that Kueue takes for an admission, and the API server for one of a client's submissions."""

    admission_s: float
    submission_s: float


def against_baseline(target: float, requeue_s: float, screen: Screen) -> list[str]:
    """Forecasts the baseline's mean waits, runs it, and prints both. Returns the classes whose forecast
    deviates by more than the target. Raises StepError if Kueue can't be run."""
    using = programs(screen)
    screen.line("measuring Kueue's pace: a burst of small workloads, about a minute and a half")
    pace = _measured(using, screen)
    screen.line(f"admission_s={pace.admission_s:.4f}, a submission takes {pace.submission_s:.3f} s")
    forecast = mean_waits_s(using.generator("baseline").read_text(), pace, requeue_s)
    waits = ", ".join(f"{name} {wait_s:.1f} s" for name, wait_s in forecast.items())
    screen.line(f"forecast of the mean waits: {waits}; now Kueue's run, about seven minutes")
    measured_run = run(KUEUE, "baseline", using, screen)
    measured = {name: priority_class.to_admission_s for name, priority_class in measured_run.classes.items()}
    return _compare(forecast, measured, target)


def pace_of(observed: Sequence[tuple[float, Progress]], generator: str) -> Pace:
    """Returns the pace of a burst whose last workload is created long before it is admitted. `observed` is
    its progress at some seconds, almost until its end."""
    (burst,) = _sets(generator)
    first = next(observation for observation in observed if observation[1].created)
    generated = next(
        observation for observation in observed if observation[1].created == observed[-1][1].created
    )
    ended = observed[-1]
    admission_s = (ended[0] - generated[0]) / (ended[1].finished - generated[1].finished)
    submissions = burst["count"] * (1 - first[1].created / generated[1].created)
    return Pace(admission_s, (generated[0] - first[0]) / submissions - burst["creationIntervalMs"] / 1000)


def mean_waits_s(generator: str, pace: Pace, requeue_s: float) -> dict[str, float]:
    """Returns the forecast's mean wait of each class, from the content of the generator's file."""
    generated = kueue_generator.read(generator, "baseline")
    queues = from_manifests("baseline", generated.manifests)
    assumed = replace(AT_ONCE, admission_s=pace.admission_s, requeue_s=requeue_s)
    jobs = _delayed(place(generated.trace.jobs, queues).jobs, _intervals_s(generator), pace.submission_s)
    outcome = Simulator(queues, jobs, assumed).run()
    groups: dict[str, list[int]] = defaultdict(list)
    for job, wait_ms in zip(outcome.jobs, waits_ms(outcome), strict=True):
        assert wait_ms is not None
        groups[_class(job.name)].append(wait_ms)
    return {name: mean(waits) / 1000 for name, waits in sorted(groups.items())}


def _measured(using: Programs, screen: Screen) -> Pace:
    observed: list[tuple[float, Progress]] = []
    run(KUEUE, "burst", using, screen, watch=lambda took_s, progress: observed.append((took_s, progress)))
    return pace_of(observed, using.generator("burst").read_text())


def _delayed(jobs: Sequence[PlacedJob], intervals_s: Mapping[str, float], by_s: float) -> list[PlacedJob]:
    """Returns the jobs as the test's clients submit them: each waits for its interval, and then for its
    submission (Kueue: test/performance/scheduler/runner/generator)."""
    slower = {name: 1 + by_s / interval_s for name, interval_s in intervals_s.items()}
    late = [replace(job, submit_ms=round(job.submit_ms * slower[_class(job.name)])) for job in jobs]
    return sorted(late, key=lambda job: job.submit_ms)


def _class(name: str) -> str:
    return name.rpartition("/")[2].partition("-")[0]


def _sets(generator: str) -> list[dict[str, Any]]:
    """Returns what each client creates."""
    cohorts = yaml.safe_load(generator)["cohorts"]
    return [
        workload_set
        for cohort in cohorts
        for queues in cohort["queuesSets"]
        for workload_set in queues["workloadsSets"]
    ]


def _intervals_s(generator: str) -> dict[str, float]:
    """Returns how long a client waits between two submissions, by class."""
    return {
        workload["className"]: workload_set["creationIntervalMs"] / 1000
        for workload_set in _sets(generator)
        for workload in workload_set["workloads"]
    }


def _compare(forecast: Mapping[str, float], measured: Mapping[str, float], target: float) -> list[str]:
    deviations = {name: forecast[name] / measured[name] - 1 for name in forecast}
    rows = [
        (name, f"{forecast[name]:.1f} s", f"{measured[name]:.1f} s", f"{deviates:+.1%}")
        for name, deviates in deviations.items()
    ]
    title = f"Kueue's own baseline, mean waits (target: ±{target:.1%})"
    console().print(table(title, ("class", "forecast", "Kueue", "deviation"), rows))
    return [
        f"baseline, {name}: mean wait {deviates:+.1%} of Kueue's"
        for name, deviates in deviations.items()
        if abs(deviates) > target
    ]
