"""Scores of candidates by cost, goals and waits; their order, and the Pareto front."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from muster.forecast.limits import WaitLimit
from muster.forecast.recommend.candidates import Candidate
from muster.forecast.recommend.goals import Measured, excess


@dataclass(frozen=True, slots=True)
class Score:
    """Means over the futures of a candidate."""

    candidate: Candidate
    cost: float  # of a month, or the number of accelerators
    values: tuple[float, ...]  # of the goals (`Measured`)
    violation: float  # sum of the excesses over all goals, as shares of their limits
    wait_s: float
    never: float  # number of jobs that never start
    starved: float  # of these, jobs that start under the present settings
    futures: int
    futures_met: int

    @property
    def meets(self) -> bool:
        """True if all goals are met."""
        return not self.violation and not self.starved

    @property
    def objectives(self) -> tuple[float, ...]:
        """The quantities to minimize."""
        return self.cost, self.violation, self.starved, self.wait_s

    @property
    def rank(self) -> tuple[float, ...]:
        """A sort key: candidates that meet all goals come first, by cost; then the others by how much they
        miss. Ties go to the smaller pools, then to the smaller quotas."""
        if self.meets:
            return 0, self.cost, self.wait_s, *self.size
        return 1, self.violation, self.starved, self.cost, self.wait_s, *self.size

    @property
    def size(self) -> tuple[int, int]:
        """The accelerators of the pools and of the quotas. A pool that is larger than its quotas costs no
        more, but is no use."""
        return self.candidate.pool_size, self.candidate.quota


def score(
    candidate: Candidate, futures: Sequence[Measured], goals: Sequence[WaitLimit], never_now: float
) -> Score:
    """Scores a candidate; `never_now` is the mean number of jobs that never start under the present
    settings."""
    values = tuple(fmean(future.values[i] for future in futures) for i in range(len(goals)))
    never = fmean(future.never for future in futures)
    met = sum(
        not any(goal.is_exceeded_by(value) for value, goal in zip(future.values, goals, strict=True))
        for future in futures
    )
    costs = [future.cost for future in futures if future.cost is not None]
    return Score(
        candidate=candidate,
        cost=fmean(costs) if costs else candidate.cost,
        values=values,
        violation=sum(excess(value, goal) for value, goal in zip(values, goals, strict=True)),
        wait_s=fmean(future.wait_s for future in futures),
        never=never,
        starved=max(0.0, never - never_now),
        futures=len(futures),
        futures_met=met,
    )


def front(scores: Iterable[Score]) -> list[Score]:
    """Returns the Pareto front by cost: candidates that no other candidate dominates; of equal ones the
    smallest."""
    first: dict[tuple[float, ...], Score] = {}
    for candidate in sorted(scores, key=lambda candidate: candidate.size):
        first.setdefault(candidate.objectives, candidate)
    every = sorted(first.values(), key=lambda candidate: candidate.objectives)
    return [a for a in every if not any(_dominates(b, a) for b in every)]


def _dominates(better: Score, worse: Score) -> bool:
    return better.objectives != worse.objectives and all(
        a <= b for a, b in zip(better.objectives, worse.objectives, strict=True)
    )
