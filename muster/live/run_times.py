"""Run times of live workloads, drawn for each future: as declared, as similar jobs ran, or from a published
distribution, each given that the workload has already run for some time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import exp, log
from random import Random
from statistics import NormalDist

from muster.forecast.placement import PlacedJob
from muster.forecast.simulation.futures import alike

SIMILAR_MIN = 5
"""Run times that a group of similar jobs needs to be preferred to a larger group."""

LOG_MEAN, LOG_DEVIATION = 6.51, 1.78
"""Run time in seconds, lognormal: 7,180 jobs of Alibaba's openb trace of 2023, of which half ran for
10 minutes at most and 10% for more than two hours. For clusters without any history."""

PROBABILITY_MAX = 1 - 1e-9


class Source(StrEnum):
    """Where a run time comes from."""

    DECLARED = "as declared"
    SIMILAR = "as similar jobs ran"
    GENERAL = "from Alibaba's openb trace, as no past job here is known to have run for longer"
    ENDLESS = "until it is deleted"


class RunTimeHistory:
    """Run times of jobs that are over."""

    def __init__(self, jobs: Iterable[PlacedJob]) -> None:
        self._known: dict[tuple[object, ...], list[int]] = defaultdict(list)
        self.count = 0
        for job in jobs:
            if job.run_ms is not None:
                self.count += 1
                for group in alike(job):
                    self._known[group].append(job.run_ms)

    def similar(self, job: PlacedJob, longer_than_ms: int) -> Sequence[int]:
        """Returns run times of the most similar jobs that ran for longer than that; none if none did."""
        longer: list[int] = []
        for group in alike(job):
            longer = [run_ms for run_ms in self._known.get(group, ()) if run_ms > longer_than_ms]
            if len(longer) >= SIMILAR_MIN:
                break
        return longer

    def drawn_ms(self, job: PlacedJob, ran_ms: int, random: Random) -> tuple[int, Source]:
        """Draws a run time for a job that has already run for `ran_ms`."""
        similar = self.similar(job, ran_ms)
        if similar:
            return random.choice(similar), Source.SIMILAR
        return general_ms(ran_ms, random), Source.GENERAL


def general_ms(ran_ms: int, random: Random) -> int:
    """Draws from the published distribution, given that the job has already run for `ran_ms`."""
    normal = NormalDist(LOG_MEAN, LOG_DEVIATION)
    passed = normal.cdf(log(ran_ms / 1000)) if ran_ms > 0 else 0.0
    quantile = min(PROBABILITY_MAX, passed + (1 - passed) * random.random())
    drawn_ms = round(1000 * exp(normal.inv_cdf(max(quantile, 1e-12))))
    return max(drawn_ms, ran_ms + 1)
