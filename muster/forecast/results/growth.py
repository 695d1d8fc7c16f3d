"""Growth of autoscaled jobs in a future: how long workers wait, and how long jobs have less than they ask
for."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.forecast.results.outcome import SimulationOutcome


@dataclass(slots=True)
class Growth:
    """Workers above the minimum: one row for each time at which workers of a group were asked for together
    and got quota together, or never did before their attempt ended."""

    # Index of the outcome's jobs.
    job: array[int] = field(default_factory=lambda: array("l"))
    asked_ms: array[int] = field(default_factory=lambda: array("q"))
    # When they got quota; -1: never.
    granted_ms: array[int] = field(default_factory=lambda: array("q"))
    pods: array[int] = field(default_factory=lambda: array("l"))
    # By job: the time in its attempts with and without all workers that it asked for.
    below_ms: dict[int, int] = field(default_factory=dict)
    held_ms: dict[int, int] = field(default_factory=dict)
    # Accelerators times milliseconds of workers above the minimum, by job and flavor.
    accelerator_ms: dict[tuple[int, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GrowthWaits:
    """Statistics of one ClusterQueue, or of all if `queue` is empty; means over the futures. Waits are of
    workers."""

    queue: str
    jobs: float  # autoscaled jobs that got quota
    granted: float  # workers
    never: float  # workers that were asked for until the end of their attempt, and not granted
    mean_s: float
    p90_s: float
    below_s: float  # of a job: with less than it asked for
    below_share: float  # of the time for which the jobs held quota


def growth_waits(outcomes: Sequence[SimulationOutcome]) -> list[GrowthWaits]:
    """Returns the statistics of all queues together and of each queue with autoscaled jobs; empty without
    autoscaled jobs."""
    futures = [_by_queue(outcome) for outcome in outcomes]
    queues = sorted({queue for future in futures for queue in future})
    return [_mean([future[queue] for future in futures if queue in future], queue) for queue in queues]


@dataclass(slots=True)
class _Sums:
    waits: list[tuple[float, int]] = field(default_factory=list)  # seconds, workers
    never: int = 0
    below_ms: int = 0
    held_ms: int = 0
    jobs: int = 0


def _by_queue(outcome: SimulationOutcome) -> dict[str, _Sums]:
    growth, sums = outcome.growth, defaultdict[str, _Sums](_Sums)
    for job, held_ms in growth.held_ms.items():
        for queue in ("", outcome.jobs[job].queue):
            of = sums[queue]
            of.jobs += 1
            of.held_ms += held_ms
            of.below_ms += growth.below_ms.get(job, 0)
    rows = zip(growth.job, growth.asked_ms, growth.granted_ms, growth.pods, strict=True)
    for job, asked_ms, granted_ms, pods in rows:
        for queue in ("", outcome.jobs[job].queue):
            if granted_ms < 0:
                sums[queue].never += pods
            else:
                sums[queue].waits.append(((granted_ms - asked_ms) / 1000, pods))
    return dict(sums)


def _mean(futures: Sequence[_Sums], queue: str) -> GrowthWaits:
    granted = [sum(pods for _, pods in sums.waits) for sums in futures]
    waited = [sum(wait * pods for wait, pods in sums.waits) for sums in futures]
    return GrowthWaits(
        queue=queue,
        jobs=fmean(sums.jobs for sums in futures),
        granted=fmean(granted),
        never=fmean(sums.never for sums in futures),
        mean_s=fmean(total / count if count else 0.0 for total, count in zip(waited, granted, strict=True)),
        p90_s=fmean(_quantile(sums.waits, 0.9) for sums in futures),
        below_s=fmean(sums.below_ms / 1000 / sums.jobs for sums in futures),
        below_share=fmean(sums.below_ms / sums.held_ms if sums.held_ms else 0.0 for sums in futures),
    )


def _quantile(waits: Sequence[tuple[float, int]], share: float) -> float:
    """Returns the smallest wait that at least this share of the workers does not exceed; 0 without
    workers."""
    remaining = share * sum(pods for _, pods in waits)
    for wait, pods in sorted(waits):
        remaining -= pods
        if remaining <= 1e-9:
            return wait
    return 0.0
