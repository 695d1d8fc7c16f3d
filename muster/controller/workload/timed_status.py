"""A Workload's status, and when it changes by time alone."""

from dataclasses import dataclass

from muster.objects.kueue import WorkloadStatus


@dataclass(frozen=True, slots=True)
class TimedStatus:
    """`until_ms` is None if only a change of objects changes the status."""

    status: WorkloadStatus
    until_ms: int | None = None
