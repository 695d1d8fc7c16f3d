"""Random draws of one future, keyed by seed, job and purpose, so that futures of two configurations are
paired.

A draw depends neither on the order of events nor on other jobs: a job gets the same provisioning delay and
failures in both configurations, and if jobs are added to the trace.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import IntEnum
from math import exp, log
from random import Random

from muster.forecast.assumptions import Assumptions
from muster.forecast.learning.delays import AS_ASSUMED, Delays, DelayTable
from muster.forecast.learning.normal_draws import standard_normal
from muster.forecast.placement import PlacedJob


class Purpose(IntEnum):
    """The random streams of a future, so that a draw for one purpose does not shift the others."""

    RUN_TIME = 0
    PROVISIONING = 1
    STOCK_OUT = 2
    FAILURE = 3
    START_UP = 4
    TERMINATION = 5
    CLEANUP = 6


SHARED = {Purpose.START_UP: 0, Purpose.PROVISIONING: 1}
"""Delays whose median is uncertain, with the stream of the draw that a future's jobs share."""


class Future:
    """The random draws of one seed. All times are in milliseconds."""

    def __init__(self, seed: int, assumptions: Assumptions, delays: Delays = AS_ASSUMED) -> None:
        self._seed, self._assumptions, self._delays = seed, assumptions, delays

    def start_up_ms(self, job: PlacedJob, attempt: int, passed_ms: int = 0) -> int:
        """Returns the time from admission until the gang runs, given that `passed_ms` of it have passed."""
        assumed_ms = round(1000 * self._assumptions.start_up_s)
        return self._delay_ms(
            self._delays.start_up, Purpose.START_UP, job, attempt, job.queue, assumed_ms, passed_ms
        )

    def termination_ms(self, job: PlacedJob, attempt: int) -> int:
        """Returns the time from a preemption until the pods have terminated."""
        assumed_ms = round(1000 * self._assumptions.termination_s)
        return self._delay_ms(
            self._delays.termination, Purpose.TERMINATION, job, attempt, job.queue, assumed_ms
        )

    def cleanup_ms(self, job: PlacedJob, attempt: int) -> int:
        """Returns the time from the end of a job until its pods have terminated."""
        assumed_ms = round(1000 * self._assumptions.cleanup_s)
        return self._delay_ms(self._delays.cleanup, Purpose.CLEANUP, job, attempt, job.queue, assumed_ms)

    def provisioning_ms(self, job: PlacedJob, attempt: int, flavor: str = "", passed_ms: int = 0) -> int:
        """Returns the delay until a ProvisioningRequest for nodes of this flavor is provisioned, given that
        `passed_ms` of it have passed."""
        if self._delays.provisioning is not None:
            return self._delay_ms(
                self._delays.provisioning, Purpose.PROVISIONING, job, attempt, flavor, 0, passed_ms
            )
        assumed = self._assumptions
        if not assumed.provisioning_spread or not assumed.provisioning_median_s:
            return round(1000 * assumed.provisioning_median_s)
        drawn = self._random(Purpose.PROVISIONING, job, attempt).gauss(0, assumed.provisioning_spread)
        return round(1000 * exp(log(assumed.provisioning_median_s) + drawn))

    def is_stocked_out(self, job: PlacedJob, attempt: int) -> bool:
        """Returns whether the ProvisioningRequest of an attempt fails."""
        probability = self._assumptions.stock_out_probability
        return probability > 0 and self._random(Purpose.STOCK_OUT, job, attempt).random() < probability

    def failure_ms(self, job: PlacedJob, attempt: int, pods: int, *, spot: bool = False) -> int | None:
        """Returns the run time until one of the gang's pods fails or one of its spot nodes is reclaimed; None
        if neither happens. A pod is assumed to have its own node."""
        rate = self._assumptions.failures_per_node_hour * pods
        if spot:
            rate += self._assumptions.spot_interruptions_per_node_hour * pods
        if rate <= 0:
            return None
        return round(3_600_000 * self._random(Purpose.FAILURE, job, attempt).expovariate(rate))

    def run_ms(self, job: PlacedJob, history: Sequence[int]) -> int:
        """Draws a run time from `history`, in ascending order. As a quantile is drawn, one more similar job
        changes it little."""
        return history[int(self._random(Purpose.RUN_TIME, job, 0).random() * len(history))]

    def _delay_ms(
        self,
        table: DelayTable | None,
        purpose: Purpose,
        job: PlacedJob,
        attempt: int,
        name: str,
        assumed_ms: int,
        passed_ms: int = 0,
    ) -> int:
        """Draws a delay of the table; without one, it is as assumed."""
        if table is None:
            return assumed_ms
        shift = standard_normal(self._seed, SHARED[purpose]) if purpose in SHARED else 0.0
        return table.of(name).drawn_ms(self._random(purpose, job, attempt), shift, passed_ms)

    def _random(self, purpose: Purpose, job: PlacedJob, attempt: int) -> Random:
        return Random(f"{self._seed}/{purpose.value}/{attempt}/{job.occurrence}/{job.name}")


class RunTimes:
    """Run times for jobs without one, drawn from the most similar jobs: of the same user and size, of the
    user, of the class, of the queue, or all.

    Raises: ValueError if no job has a run time."""

    def __init__(self, jobs: Sequence[PlacedJob]) -> None:
        by_group: dict[tuple[object, ...], list[int]] = defaultdict(list)
        self._by_group: Mapping[tuple[object, ...], list[int]] = by_group
        if not any(job.has_drawn_run_time for job in jobs):
            return
        for job in jobs:
            if job.run_ms is not None:
                for group in similarity_groups(job):
                    by_group[group].append(job.run_ms)
        for times in by_group.values():
            times.sort()
        if not by_group:
            raise ValueError(
                "no job of the trace has a run time; expected at least one to draw the others from"
            )

    def history(self, job: PlacedJob) -> Sequence[int]:
        """Returns the run times to draw from, at least one, in ascending order."""
        return next(times for group in similarity_groups(job) if (times := self._by_group.get(group)))


def similarity_groups(job: PlacedJob) -> tuple[tuple[object, ...], ...]:
    """Returns the groups of similar jobs that a job belongs to, the most similar first."""
    by_user = ((job.user, job.accelerators), (job.user,)) if job.user else ()
    return (*by_user, ("class", job.queue, job.priority_class), ("queue", job.queue), ())
