"""Draws the run times of live workloads for each future: declared, like similar jobs, or from a published
distribution. Each is conditional on the time that the workload has already run."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import exp, log
from random import Random
from statistics import NormalDist

from muster.forecast.placement import PlacedJob
from muster.forecast.simulation.futures import similarity_groups

SIMILAR_MIN = 5
"""Number of run times that a group of similar jobs needs; with fewer, a larger group is used."""

LOG_MEAN, LOG_DEVIATION = 6.51, 1.78
"""Lognormal run time in seconds, for clusters without history: 7,180 jobs of Alibaba's openb trace of 2023,
of which half ran for up to 10 minutes and 10% for more than two hours."""

PROBABILITY_MAX = 1 - 1e-9


class RunTimeSource(StrEnum):
    """The source of a run time."""

    DECLARED = "declared"
    SIMILAR = "from similar jobs"
    GENERAL = "from Alibaba's openb trace, as no past job here ran longer"
    ENDLESS = "until deleted"


class RunTimeHistory:
    """Run times of finished jobs."""

    def __init__(self, jobs: Iterable[PlacedJob]) -> None:
        self._run_times_ms: dict[tuple[object, ...], list[int]] = defaultdict(list)
        self.count = 0
        for job in jobs:
            if job.run_ms is not None:
                self.count += 1
                for group in similarity_groups(job):
                    self._run_times_ms[group].append(job.run_ms)

    def similar(self, job: PlacedJob, longer_than_ms: int) -> Sequence[int]:
        """Returns the run times above `longer_than_ms` of the most similar jobs; empty if there are none."""
        longer: list[int] = []
        for group in similarity_groups(job):
            longer = [run_ms for run_ms in self._run_times_ms.get(group, ()) if run_ms > longer_than_ms]
            if len(longer) >= SIMILAR_MIN:
                break
        return longer

    def drawn_ms(self, job: PlacedJob, ran_ms: int, random: Random) -> tuple[int, RunTimeSource]:
        """Draws a run time for a job that has already run for `ran_ms`."""
        similar = self.similar(job, ran_ms)
        if similar:
            return random.choice(similar), RunTimeSource.SIMILAR
        return general_ms(ran_ms, random), RunTimeSource.GENERAL


def general_ms(ran_ms: int, random: Random) -> int:
    """Draws from the published distribution, given that the job has already run for `ran_ms`."""
    normal = NormalDist(LOG_MEAN, LOG_DEVIATION)
    passed = normal.cdf(log(ran_ms / 1000)) if ran_ms > 0 else 0.0
    quantile = min(PROBABILITY_MAX, passed + (1 - passed) * random.random())
    drawn_ms = round(1000 * exp(normal.inv_cdf(max(quantile, 1e-12))))
    return max(drawn_ms, ran_ms + 1)
