"""What each job was doing over time, as changes and as bars of text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from sandbox.cluster.kinds import is_true
from sandbox.scenarios.gangs import running_gang
from sandbox.scenarios.observations import JobRef, World, job_status


class Phase(Enum):
    """What a user would say a job is doing; the value is its mark in a bar."""

    WAITING = "."
    PROVISIONING = "+"
    RUNNING = "#"
    PREEMPTED = "x"
    DONE = " "


def phase(world: World, ref: JobRef) -> Phase | None:
    """What the job is doing now; None while it does not exist."""
    job, workload = world.job(ref), world.workload(ref)
    if not job:
        return None
    if job_status(job)[1] in ("Complete", "Failed"):
        return Phase.DONE
    if not workload:
        return _phase_by_pods(world, ref)
    # Evicted comes before its pods go and its quota is given back, and stays until quota is reserved again.
    if is_true(workload, "Evicted"):
        return Phase.PREEMPTED
    if is_true(workload, "Admitted"):
        return Phase.RUNNING
    return Phase.PROVISIONING if is_true(workload, "QuotaReserved") else Phase.WAITING


def _phase_by_pods(world: World, ref: JobRef) -> Phase:
    """Of a job that nobody made a Workload for: KAI evicts pods and leaves their RayCluster as it is."""
    if running_gang(world, ref):
        return Phase.RUNNING
    ran = is_true(world.job(ref), "RayClusterProvisioned")
    return Phase.PREEMPTED if ran else Phase.WAITING


@dataclass
class Timeline:
    """The phases that each job went through: (from when in seconds, phase), in order of time."""

    changes: dict[str, list[tuple[float, Phase]]] = field(default_factory=dict)

    def see(self, at: float, name: str, now: Phase | None) -> bool:
        """Notes the job's phase (None: it is not there); says whether it is another than before."""
        if now is None and name not in self.changes:
            return False
        now = now or Phase.DONE
        changes = self.changes.setdefault(name, [])
        if changes and changes[-1][1] is now:
            return False
        changes.append((at, now))
        return True


def bars(changes: Mapping[str, Sequence[tuple[float, Phase]]], until: float, width: int = 60) -> list[str]:
    """One line a job, `width` columns for the time from 0 to `until`, then a scale and a legend.

    A phase shorter than a column still gets the column in which it began.
    """
    column = max(until, 0.001) / width
    longest = max([len(name) for name in changes], default=0)
    lines = [f"{name:<{longest}} |{_bar(rows, column, width)}|" for name, rows in changes.items()]
    end = f"{until:.0f} s"
    lines.append(f"{'':<{longest}}  0 s{end:>{width - 3}}")
    legend = "  ".join(f"{p.value} {p.name.lower()}" for p in Phase if p is not Phase.DONE)
    return [*lines, f"{'':<{longest}}  {legend}"]


def _bar(rows: Sequence[tuple[float, Phase]], column: float, width: int) -> str:
    marks = []
    for index in range(width):
        began = [p for at, p in rows if index * column <= at < (index + 1) * column]
        before = [p for at, p in rows if at < index * column]
        marks.append(began[0].value if began else before[-1].value if before else " ")
    return "".join(marks)
