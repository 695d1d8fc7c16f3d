"""The history of a trace under an engine: which job held quota when. Times are seconds of the trace."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from tests.simulation.manifests import WORKER

(_CONTAINER,) = WORKER["spec"]["containers"]
REQUESTS: Mapping[str, str] = _CONTAINER["resources"]["requests"]


@dataclass(frozen=True, slots=True)
class Job:
    """A job of a trace. `queue` is its ClusterQueue and its namespace; `requests` are a worker's."""

    name: str
    submit_s: float
    run_s: float
    workers: int
    queue: str
    priority_class: str = "dev-priority"
    requests: Mapping[str, str] = field(default_factory=lambda: REQUESTS)


@dataclass(frozen=True, slots=True)
class Holding:
    """One time that a job held quota. `started_s` None: its gang did not run in it."""

    job: str
    reserved_s: float
    started_s: float | None
    ended_s: float
    preempted: bool = False


@dataclass(frozen=True)
class History:
    """`holdings` are in order of `reserved_s`. Holdings that begin at most `together_s` after each other may
    be of one decision, whose writes have no order."""

    engine: str
    jobs: tuple[Job, ...]
    holdings: tuple[Holding, ...]
    together_s: float = 0.0

    @property
    def preemptions(self) -> int:
        return sum(holding.preempted for holding in self.holdings)

    @property
    def makespan_s(self) -> float:
        """The time from the first submission until no job holds quota."""
        return max(h.ended_s for h in self.holdings) - min(j.submit_s for j in self.jobs)

    def order(self) -> list[str]:
        """Returns the jobs in the order of their first admissions; jobs of one decision by submission."""
        submitted = {job.name: (job.submit_s, job.name) for job in self.jobs}
        first: dict[str, Holding] = {}
        for holding in self.holdings:
            first.setdefault(holding.job, holding)
        together: list[list[str]] = []
        last_s = -inf
        for holding in first.values():
            if holding.reserved_s - last_s > self.together_s:
                together.append([])
            together[-1].append(holding.job)
            last_s = holding.reserved_s
        return [job for jobs in together for job in sorted(jobs, key=lambda name: submitted[name])]

    def waits_s(self) -> dict[str, float | None]:
        """Returns each job's wait: from its submission until its gang first runs. None: it never does."""
        started: dict[str, float] = {}
        for holding in self.holdings:
            if holding.started_s is not None:
                started.setdefault(holding.job, holding.started_s)
        return {j.name: started[j.name] - j.submit_s if j.name in started else None for j in self.jobs}
