"""Changes a trace to another demand: queues with more or fewer jobs, and teams that are added."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from muster.forecast.demand.copies import copied, count
from muster.forecast.traces.trace import Trace, TraceJob

ALL = "all"
"""The name for all queues, unless a queue has it."""
FACTOR_MAX = 100.0


@dataclass(frozen=True, slots=True)
class AddedTeam:
    """A team whose jobs are copies of the jobs of the queue `like`."""

    queue: str
    like: str


@dataclass(frozen=True, slots=True)
class Demand:
    """The difference of a demand from the trace. Teams are added before queues are scaled."""

    scales: Mapping[str, float] = field(default_factory=dict)  # factor by ClusterQueue, or of ALL others
    teams: Sequence[AddedTeam] = ()

    def __bool__(self) -> bool:
        return bool(self.scales or self.teams)


JobQueues = Sequence[Set[str]]
"""The ClusterQueues of each job of a trace, on both sides of a plan."""


def demanded(trace: Trace, queues: JobQueues, demand: Demand) -> Trace:
    """Returns the trace with another demand, and counts the added and omitted jobs in it."""
    if not demand:
        return trace
    end_ms = trace.jobs[-1].submit_ms if trace.jobs else 0
    change = _Change(end_ms, [*zip(trace.jobs, queues, strict=True)], Counter(), Counter())
    for team in demand.teams:
        change.add(team)
    if demand.scales:
        change.scale(demand.scales)
    jobs = [job for job, _ in change.jobs]
    jobs.sort(key=lambda job: job.submit_ms)
    return replace(
        trace,
        jobs=jobs,
        skipped=dict(Counter(trace.skipped) + change.skipped),
        adjusted=dict(Counter(trace.adjusted) + change.adjusted),
        measured=trace.measured or trace.jobs,
    )


@dataclass(slots=True)
class _Change:
    """A change of a demand in progress: jobs with their queues."""

    end_ms: int
    jobs: list[tuple[TraceJob, Set[str]]]
    skipped: Counter[str]
    adjusted: Counter[str]

    def add(self, team: AddedTeam) -> None:
        """Copies the jobs of a queue to the queue of a new team, with other users."""
        jobs = [job for job, queues in self.jobs if team.like in queues]
        for job in jobs:
            name, user = f"{team.queue}/{job.name}", f"{team.queue}/{job.user}" if job.user else ""
            copy = copied(job, name, self.end_ms, team.queue, user)
            self.jobs.append((copy, frozenset((team.queue,))))
        self.adjusted[f"jobs of {team.queue} are copies of {team.like}'s, up to an hour apart"] += len(jobs)

    def scale(self, factors: Mapping[str, float]) -> None:
        """Copies or omits jobs of the queues that have a factor."""
        names: Counter[str] = Counter()
        others = "" if any(ALL in queues for _, queues in self.jobs) else ALL
        scaled: list[tuple[TraceJob, Set[str]]] = []
        for job, queues in self.jobs:
            occurrence = names[job.name]
            names[job.name] += 1
            queue = next((queue for queue in sorted(queues) if queue in factors), others)
            number = count(job, occurrence, factors.get(queue, 1.0))
            if number:
                scaled.append((job, queues))
            else:
                self.skipped[f"demand of {_scaled(queue, factors)}"] += 1
            if number > 1:
                self.adjusted[f"demand of {_scaled(queue, factors)}: copies, up to an hour apart"] += (
                    number - 1
                )
            copies = (copied(job, f"{job.name}~{n}", self.end_ms) for n in range(2, number + 1))
            scaled.extend((copy, queues) for copy in copies)
        self.jobs = scaled


def _scaled(queue: str, factors: Mapping[str, float]) -> str:
    return f"{'all other queues' if queue == ALL and len(factors) > 1 else queue} x {factors[queue]:g}"
