"""The phases of jobs over time, as changes and as bars of text. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from sandbox.cluster.kinds import is_true
from sandbox.scenarios.gangs import running_gang
from sandbox.scenarios.observations import JobRef, ObservedObjects, job_status


class JobPhase(Enum):
    """The phase of a job from the user's point of view."""

    WAITING = "waiting"
    PROVISIONING = "provisioning"
    RUNNING = "running"
    PREEMPTED = "preempted"
    DONE = "done"


MARKS = {
    JobPhase.WAITING: ".",
    JobPhase.PROVISIONING: "+",
    JobPhase.RUNNING: "#",
    JobPhase.PREEMPTED: "x",
    JobPhase.DONE: " ",
}
"""The characters for phases in a bar of text."""


def phase(observed: ObservedObjects, ref: JobRef) -> JobPhase | None:
    """Returns the job's current phase; None if it does not exist."""
    job, workload = observed.job(ref), observed.workload(ref)
    if not job:
        return None
    if job_status(job)[1] in ("Complete", "Failed"):
        return JobPhase.DONE
    if not workload:
        return _phase_by_pods(observed, ref)
    # Evicted is set before the pods are deleted and the quota is released, until quota is reserved again.
    if is_true(workload, "Evicted"):
        return JobPhase.PREEMPTED
    if is_true(workload, "Admitted"):
        return JobPhase.RUNNING
    return JobPhase.PROVISIONING if is_true(workload, "QuotaReserved") else JobPhase.WAITING


def _phase_by_pods(observed: ObservedObjects, ref: JobRef) -> JobPhase:
    """Returns the phase of a job without a Workload, as KAI evicts pods and does not suspend RayClusters."""
    if running_gang(observed, ref):
        return JobPhase.RUNNING
    ran = is_true(observed.job(ref), "RayClusterProvisioned")
    return JobPhase.PREEMPTED if ran else JobPhase.WAITING


@dataclass
class Timeline:
    """The phases of each job as (start in seconds, phase), sorted by time."""

    changes: dict[str, list[tuple[float, JobPhase]]] = field(default_factory=dict)

    def record(self, at: float, name: str, now: JobPhase | None) -> bool:
        """Records the job's phase, None if the job does not exist; returns whether it changed."""
        if now is None and name not in self.changes:
            return False
        now = now or JobPhase.DONE
        changes = self.changes.setdefault(name, [])
        if changes and changes[-1][1] is now:
            return False
        changes.append((at, now))
        return True


def bars(changes: Mapping[str, Sequence[tuple[float, JobPhase]]], until: float, width: int = 60) -> list[str]:
    """Returns a line for each job, with `width` columns for the time from 0 to `until`, then a scale and a
    legend.

    A phase that is shorter than a column is shown in the column in which it began.
    """
    column = max(until, 0.001) / width
    longest = max([len(name) for name in changes], default=0)
    lines = [f"{name:<{longest}} |{_bar(rows, column, width)}|" for name, rows in changes.items()]
    end = f"{until:.0f} s"
    lines.append(f"{'':<{longest}}  0 s{end:>{width - 3}}")
    legend = "  ".join(f"{MARKS[p]} {p.value}" for p in JobPhase if p is not JobPhase.DONE)
    return [*lines, f"{'':<{longest}}  {legend}"]


def _bar(rows: Sequence[tuple[float, JobPhase]], column: float, width: int) -> str:
    marks = []
    for index in range(width):
        began = [p for at, p in rows if index * column <= at < (index + 1) * column]
        before = [p for at, p in rows if at < index * column]
        phase_shown = began[0] if began else before[-1] if before else JobPhase.DONE
        marks.append(MARKS[phase_shown])
    return "".join(marks)
