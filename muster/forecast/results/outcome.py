"""The outcome of one simulated future. Columns hold the attempts, so that a million jobs fit in memory."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from muster.forecast.results.budgets import BudgetOutcome
from muster.forecast.results.growth import Growth


class End(IntEnum):
    """The end of a job's attempt."""

    FINISHED = 0
    PREEMPTED = 1
    FAILED = 2  # a pod or node failed, and the job is retried
    NOT_PROVISIONED = 3  # it held quota, but the cloud had no capacity
    HORIZON = 4  # it holds quota at the end of the forecast
    DEACTIVATED = 5  # as NOT_PROVISIONED, and its retries are exhausted
    CANCELLED = 6  # its user cancelled it, as the trace recorded


@dataclass(frozen=True, slots=True)
class SimulatedJob:
    """A simulated job."""

    name: str
    submit_ms: int
    queue: str  # ClusterQueue
    priority_class: str
    user: str
    pods: int
    accelerators: int  # of the whole gang; 0 for CPU jobs
    number: int = 0  # its position in the trace
    cancelled_ms: int | None = None  # time from its submission until its user cancels it


@dataclass(slots=True)
class Attempts:
    """Times during which a job held quota: one row per attempt, in order of time."""

    # Index of the outcome's jobs.
    job: array[int] = field(default_factory=lambda: array("l"))
    # When the job got quota.
    reserved_ms: array[int] = field(default_factory=lambda: array("q"))
    # When the gang started; -1: never.
    started_ms: array[int] = field(default_factory=lambda: array("q"))
    # When the quota was released.
    ended_ms: array[int] = field(default_factory=lambda: array("q"))
    end: array[int] = field(default_factory=lambda: array("b"))
    # Index of the outcome's flavors: of the job's accelerators, else of its first resource.
    flavor: array[int] = field(default_factory=lambda: array("h"))
    # Work that the job must repeat.
    lost_ms: array[int] = field(default_factory=lambda: array("q"))


@dataclass(frozen=True, slots=True)
class QueueCapacity:
    """A ClusterQueue of the configuration with its nominal quota of accelerators, by flavor."""

    name: str
    cohort: str
    nominal: dict[str, int]


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    """One future. `jobs` are in order of submission; the simulated time runs from 0 to `end_ms`."""

    jobs: Sequence[SimulatedJob]
    attempts: Attempts
    queues: Sequence[QueueCapacity]
    end_ms: int
    seed: int = 0
    flavors: Sequence[str] = ()
    growth: Growth = field(default_factory=Growth)
    budgets: Sequence[BudgetOutcome] = ()
