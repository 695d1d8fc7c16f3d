"""The outcome of one simulated future, in columns: a million jobs fit into memory."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum


class End(IntEnum):
    """How an attempt of a job ended."""

    FINISHED = 0
    PREEMPTED = 1
    FAILED = 2  # a pod or node failed, and the job is retried
    NOT_PROVISIONED = 3  # it held quota, and the cloud had no capacity
    HORIZON = 4  # it still holds quota at the end of the forecast
    DEACTIVATED = 5  # as NOT_PROVISIONED, and its retries are exhausted


@dataclass(frozen=True, slots=True)
class SimulatedJob:
    """A job as it was simulated. `accelerators` is its gang's total (0 for CPU jobs), `pods` its size."""

    name: str
    submit_ms: int
    queue: str  # ClusterQueue
    priority_class: str
    user: str
    pods: int
    accelerators: int
    number: int = 0  # its position in the trace


@dataclass(slots=True)
class Attempts:
    """One row for each time that a job held quota, by time.

    `job` is an index of the outcome's jobs, `flavor` one of its flavors: of the job's accelerators, or of
    its first resource. The job got quota at `reserved_ms`, its gang ran from `started_ms` (-1: never), and it
    gave the quota back at `ended_ms`. `lost_ms` is work that it has to repeat."""

    job: array[int] = field(default_factory=lambda: array("l"))
    reserved_ms: array[int] = field(default_factory=lambda: array("q"))
    started_ms: array[int] = field(default_factory=lambda: array("q"))
    ended_ms: array[int] = field(default_factory=lambda: array("q"))
    end: array[int] = field(default_factory=lambda: array("b"))
    flavor: array[int] = field(default_factory=lambda: array("h"))
    lost_ms: array[int] = field(default_factory=lambda: array("q"))


@dataclass(frozen=True, slots=True)
class QueueCapacity:
    """A ClusterQueue of the configuration with its accelerators: own, by flavor."""

    name: str
    cohort: str
    nominal: dict[str, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One future. `jobs` are in order of submission; the simulated time goes from 0 to `end_ms`."""

    jobs: Sequence[SimulatedJob]
    attempts: Attempts
    queues: Sequence[QueueCapacity]
    end_ms: int
    seed: int = 0
    flavors: Sequence[str] = ()
