"""Usage of quota: utilization by flavor, accelerator-hours by team, lost work, preemptions."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from muster.forecast.results.outcome import End, SimulationOutcome

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class FlavorUse:
    """Accelerator-hours of one flavor."""

    offered: float  # of the nominal quota
    held: float  # with reserved quota
    ran: float  # with a running gang

    @property
    def utilisation(self) -> float:
        """The share of the quota that was held; 0 if there is no quota."""
        return self.held / self.offered if self.offered else 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Totals of one future."""

    makespan_ms: int
    preemptions: int
    failures: int
    stock_outs: int
    deactivated: int
    lost_hours: float  # accelerator-hours of work that preempted and failed jobs had to repeat
    flavors: Mapping[str, FlavorUse]
    hours_by_team: Mapping[tuple[str, str], float]  # accelerator-hours by queue and flavor
    attempts: Mapping[str, int]  # by flavor


def usage(outcome: SimulationOutcome) -> Usage:
    """Returns the usage over all of the simulated time."""
    held: dict[str, float] = defaultdict(float)
    ran: dict[str, float] = defaultdict(float)
    by_team: dict[tuple[str, str], float] = defaultdict(float)
    ends: Counter[int] = Counter(outcome.attempts.end)
    count: Counter[str] = Counter()
    lost = 0.0
    columns = outcome.attempts
    for job, reserved, started, ended, flavor, lost_ms in zip(
        columns.job,
        columns.reserved_ms,
        columns.started_ms,
        columns.ended_ms,
        columns.flavor,
        columns.lost_ms,
        strict=True,
    ):
        simulated_job, name = outcome.jobs[job], outcome.flavors[flavor]
        hours = simulated_job.accelerators * (ended - reserved) / HOUR_MS
        held[name] += hours
        by_team[simulated_job.queue, name] += hours
        count[name] += 1
        lost += simulated_job.accelerators * lost_ms / HOUR_MS
        if started >= 0:
            ran[name] += simulated_job.accelerators * max(0, ended - started) / HOUR_MS
    for (job, name), used_ms in outcome.growth.accelerator_ms.items():
        hours = used_ms / HOUR_MS
        held[name] += hours
        ran[name] += hours
        by_team[outcome.jobs[job].queue, name] += hours
    nominal: Counter[str] = Counter()
    for queue in outcome.queues:
        nominal.update(queue.nominal)
    hours = outcome.end_ms / HOUR_MS
    return Usage(
        makespan_ms=outcome.end_ms - (outcome.jobs[0].submit_ms if outcome.jobs else 0),
        preemptions=ends[End.PREEMPTED],
        failures=ends[End.FAILED],
        stock_outs=ends[End.NOT_PROVISIONED] + ends[End.DEACTIVATED],
        deactivated=ends[End.DEACTIVATED],
        lost_hours=lost,
        flavors={
            name: FlavorUse(nominal[name] * hours, held[name], ran[name])
            for name in outcome.flavors
            if nominal[name] or held[name]
        },
        hours_by_team=dict(by_team),
        attempts=dict(count),
    )
