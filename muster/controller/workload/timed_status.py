"""A Workload's status, and the next time at which it changes without an event."""

from dataclasses import dataclass

from muster.objects.kueue import WorkloadStatus


@dataclass(frozen=True, slots=True)
class TimedStatus:
    """A status that is valid until `until_ms`; None if only changes of objects invalidate it."""

    status: WorkloadStatus
    until_ms: int | None = None
