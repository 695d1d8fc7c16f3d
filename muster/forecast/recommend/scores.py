"""Scores of candidates: cost, goals and waits; which is better, and the Pareto front."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from muster.forecast.limits import WaitLimit
from muster.forecast.recommend.candidates import Candidate
from muster.forecast.recommend.goals import Measured, excess


@dataclass(frozen=True, slots=True)
class Score:
    """Means over a candidate's futures. `violation` is the sum of what goals are exceeded by, as shares of
    their limits; `starved` are jobs that never start and do under the present settings."""

    candidate: Candidate
    values: tuple[float, ...]
    violation: float
    wait_s: float
    never: float
    starved: float
    futures: int
    futures_met: int

    @property
    def meets(self) -> bool:
        return not self.violation and not self.starved

    @property
    def objectives(self) -> tuple[float, ...]:
        """Returns the quantities that a better candidate has less of."""
        return self.candidate.cost, self.violation, self.starved, self.wait_s

    @property
    def rank(self) -> tuple[float, ...]:
        """Sorts candidates: those that meet all goals, by cost, and then others by how much they miss."""
        if self.meets:
            return 0, self.candidate.cost, self.wait_s
        return 1, self.violation, self.starved, self.candidate.cost, self.wait_s


def score(
    candidate: Candidate, futures: Sequence[Measured], goals: Sequence[WaitLimit], never_now: float
) -> Score:
    """Scores one candidate; `never_now` is the mean number of jobs that never start at present."""
    values = tuple(fmean(one.values[i] for one in futures) for i in range(len(goals)))
    never = fmean(one.never for one in futures)
    met = sum(
        all(value <= goal.max_s for value, goal in zip(one.values, goals, strict=True)) for one in futures
    )
    return Score(
        candidate=candidate,
        values=values,
        violation=sum(excess(value, goal) for value, goal in zip(values, goals, strict=True)),
        wait_s=fmean(one.wait_s for one in futures),
        never=never,
        starved=max(0.0, never - never_now),
        futures=len(futures),
        futures_met=met,
    )


def front(scores: Iterable[Score]) -> list[Score]:
    """Returns the Pareto front, by cost: those that no other is at least as good as, and better in one. Of
    equally good ones it has the first."""
    first: dict[tuple[float, ...], Score] = {}
    for one in scores:
        first.setdefault(one.objectives, one)
    every = sorted(first.values(), key=lambda one: one.objectives)
    return [one for one in every if not any(_dominates(other, one) for other in every)]


def _dominates(one: Score, other: Score) -> bool:
    return one.objectives != other.objectives and all(
        a <= b for a, b in zip(one.objectives, other.objectives, strict=True)
    )
