"""A problem that keeps jobs from being admitted, or that no controller corrects."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterProblem:
    """A problem of one object."""

    check: str  # one word for the kind of problem
    subject: str  # the object
    fault: str
    remedy: str
