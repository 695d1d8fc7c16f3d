"""Estimates of starts, and the starts themselves."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SimulatedWait:
    """The 10th, 50th and 90th percentile of the time until a start, in milliseconds, as simulated."""

    age_ms: int  # how long the job had waited
    low_ms: int
    median_ms: int
    high_ms: int


@dataclass(frozen=True, slots=True)
class EstimateOutcome:
    """An earlier estimate and the start."""

    at_ms: int  # the time of the estimate
    simulated: SimulatedWait
    wait_ms: int  # from the estimate until the start; of a job that has not started, until now
    has_started: bool
