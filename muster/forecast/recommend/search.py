"""The search: all candidates if they are few, else a spread of them, their neighbours, and the best in full.

Nothing here assumes that more quota shortens every wait: with gangs and preemption it may not (Graham, 1969).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from random import Random
from statistics import fmean

from muster.forecast.limits import WaitLimit
from muster.forecast.recommend.candidates import Candidate, Candidates
from muster.forecast.recommend.goals import Measured
from muster.forecast.recommend.scores import Score, front, score
from muster.forecast.recommend.variables import Point, Variable, size

CANDIDATES = 64
SCREEN_SEEDS = 3
SCREEN_SHARE = 0.25
"""The share of the trace, from its beginning, on which candidates are tried first."""
BATCH = 8
"""Neighbours that are tried at once. It does not depend on the machine, as the result must not."""
LEADERS = 4
TRIES = 20
"""Points that are drawn for one that is valid and not known."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The seeds that a candidate is simulated with, on the first `jobs` jobs of the trace."""

    seeds: Sequence[int]
    jobs: int

    @property
    def effort(self) -> int:
        return len(self.seeds) * self.jobs


@dataclass(frozen=True, slots=True)
class Plan:
    """At most `budget` candidates; `screen` is None if all of them are simulated in full."""

    full: Stage
    screen: Stage | None
    budget: int
    seed: int = 0

    @property
    def finalists(self) -> int:
        """Candidates of the first round in full; the neighbours of the best are as many again at most."""
        return max(LEADERS, self.budget // 4)

    @property
    def effort(self) -> int:
        """Returns an upper bound of the jobs to simulate, for the progress bar."""
        if self.screen is None:
            return (self.budget + 1) * self.full.effort
        return (self.budget + 1) * self.screen.effort + (2 * self.finalists + 1) * self.full.effort


def plan(variables: Sequence[Variable], seeds: Sequence[int], jobs: int, budget: int, seed: int = 0) -> Plan:
    """Plans a search of at most `budget` candidates."""
    grid = size(variables)
    if grid <= budget:
        return Plan(Stage(seeds, jobs), None, grid, seed)
    screen = Stage(seeds[:SCREEN_SEEDS], max(1, round(SCREEN_SHARE * jobs)))
    return Plan(Stage(seeds, jobs), screen, budget, seed)


Evaluate = Callable[[Sequence[Candidate], Stage], Sequence[Sequence[Measured]]]


@dataclass(frozen=True, slots=True)
class Found:
    """`scores` are those of all candidates that were simulated in full, the present settings among them."""

    present: Score
    scores: Sequence[Score]
    screened: int

    @property
    def best(self) -> Score:
        return min(self.scores, key=lambda one: one.rank)


class Search:
    """Searches for the cheapest candidate that meets the goals. The same inputs give the same result."""

    def __init__(
        self, candidates: Candidates, goals: Sequence[WaitLimit], plan: Plan, evaluate: Evaluate
    ) -> None:
        self._candidates, self._goals, self._plan, self._evaluate = candidates, goals, plan, evaluate

    def run(self) -> Found:
        if self._plan.screen is None:
            points = product(*(range(len(one.values)) for one in self._candidates.variables))
            full = self._round(self._plan.full, points)
            return Found(full.present, full.scores, 0)
        screened = self._screened(self._plan.screen)
        full = self._round(self._plan.full, _finalists(screened.by_point, self._plan.finalists))
        self._refine(full, 2 * self._plan.finalists)
        return Found(full.present, full.scores, len(screened.by_point))

    def _round(self, stage: Stage, points: Iterable[Point]) -> "_Round":
        return _Round(self._candidates, self._goals, stage, self._evaluate, points)

    def _screened(self, stage: Stage) -> "_Round":
        """Tries a spread of points, and neighbours of the best, again and again."""
        budget = self._plan.budget
        done = self._round(stage, self._spread(max(1, budget // 2)))
        while left := budget - len(done.by_point):
            ranked = sorted(done.by_point, key=lambda point: (done.by_point[point].rank, point))
            near = (point for leader in ranked[:LEADERS] for point in self._neighbours(leader))
            if not done.add(self._new(near, done, min(BATCH, left))):
                break
        return done

    def _refine(self, done: "_Round", budget: int) -> None:
        """Tries the neighbours of the best in full, until none of them is better."""
        while done.by_point and (left := budget - len(done.by_point)) > 0:
            best = min(done.by_point, key=lambda point: (done.by_point[point].rank, point))
            if not done.add(self._new(self._neighbours(best), done, left)):
                return

    def _spread(self, count: int) -> list[Point]:
        """Returns valid points: the lowest, middle and highest values, and then a Latin hypercube."""
        points = _points([len(one.values) for one in self._candidates.variables], Random(self._plan.seed))
        found: dict[Point, None] = {}
        for _, point in zip(range(TRIES * count), points, strict=False):
            if point not in found and self._candidates.at(point) is not None:
                found[point] = None
            if len(found) == count:
                break
        return list(found)

    def _neighbours(self, point: Point) -> Iterator[Point]:
        """Yields the points that differ by one step in one variable, or in two in the same direction, as a
        quota and its pool have to."""
        places = range(len(point))
        moves = [*((at,) for at in places), *combinations(places, 2)]
        for move, step in product(moves, (-1, 1)):
            near = tuple(n + step if at in move else n for at, n in enumerate(point))
            if all(0 <= n < len(one.values) for n, one in zip(near, self._candidates.variables, strict=True)):
                yield near

    def _new(self, points: Iterable[Point], done: "_Round", count: int) -> list[Point]:
        found: dict[Point, None] = {}
        for point in points:
            if point not in done.by_point and self._candidates.at(point) is not None:
                found[point] = None
            if len(found) == count:
                break
        return list(found)


class _Round:
    """Candidates that were simulated in one stage, the present settings with the first of them."""

    def __init__(
        self,
        candidates: Candidates,
        goals: Sequence[WaitLimit],
        stage: Stage,
        evaluate: Evaluate,
        points: Iterable[Point],
    ) -> None:
        self._candidates, self._goals, self._stage, self._evaluate = candidates, goals, stage, evaluate
        made = self._made(points)
        now, *results = evaluate([candidates.present, *(candidate for _, candidate in made)], stage)
        self._never_now = fmean(one.never for one in now)
        self.present = score(candidates.present, now, goals, self._never_now)
        self.by_point: dict[Point, Score] = {}
        self._keep(made, results)

    @property
    def scores(self) -> list[Score]:
        now = self.present.candidate
        return [self.present, *(one for one in self.by_point.values() if one.candidate is not now)]

    def add(self, points: Iterable[Point]) -> bool:
        """Simulates the valid ones of the points; returns whether there is any."""
        made = self._made(points)
        self._keep(made, self._evaluate([candidate for _, candidate in made], self._stage))
        return bool(made)

    def _made(self, points: Iterable[Point]) -> list[tuple[Point, Candidate]]:
        return [(point, one) for point in points if (one := self._candidates.at(point)) is not None]

    def _keep(self, made: Sequence[tuple[Point, Candidate]], results: Sequence[Sequence[Measured]]) -> None:
        for (point, candidate), futures in zip(made, results, strict=True):
            self.by_point[point] = score(candidate, futures, self._goals, self._never_now)


def _points(sizes: Sequence[int], random: Random) -> Iterator[Point]:
    yield tuple(0 for _ in sizes)
    yield tuple(n // 2 for n in sizes)
    yield tuple(n - 1 for n in sizes)
    rows = max(sizes)
    while True:
        # In each column, every value comes up about equally often.
        columns = [[row * n // rows for row in range(rows)] for n in sizes]
        for column in columns:
            random.shuffle(column)
        yield from zip(*columns, strict=True)


def _finalists(scores: dict[Point, Score], count: int) -> list[Point]:
    """Returns the best half by rank, and others from the whole Pareto front: a part of the trace may show
    waits that are too short, and then the answer is a more expensive one."""
    ranked = sorted(scores, key=lambda point: (scores[point].rank, point))
    chosen = dict.fromkeys(ranked[: count // 2])
    on_front = {id(one) for one in front(scores.values())}
    others = [point for point in scores if id(scores[point]) in on_front and point not in chosen]
    others.sort(key=lambda point: (scores[point].candidate.cost, point))
    left = count - len(chosen)
    chosen |= dict.fromkeys(others[n * len(others) // left] for n in range(left) if others)
    return list(dict.fromkeys([*chosen, *ranked]))[:count]
