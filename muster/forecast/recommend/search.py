"""The search: all candidates if there are few, else a sample, its neighbors, and the best in full.

It does not assume that more quota shortens every wait: with gangs and preemption it may not
(Graham, 1969).
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
"""The share of the trace, from its beginning, that candidates are screened on."""
BATCH = 8
"""Number of neighbors per batch. Independent of the machine, as the result must be."""
LEADERS = 4
TRIES = 20
"""Maximum number of draws per point that is valid and new."""


@dataclass(frozen=True, slots=True)
class SearchStage:
    """The seeds to simulate a candidate with, on the first `jobs` jobs of the trace."""

    seeds: Sequence[int]
    jobs: int

    @property
    def effort(self) -> int:
        """The number of simulated jobs for each candidate."""
        return len(self.seeds) * self.jobs


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The extent of a search."""

    full: SearchStage
    screen: SearchStage | None  # None: all candidates are simulated in full
    budget: int  # maximum number of candidates
    seed: int = 0

    @property
    def finalists(self) -> int:
        """The number of candidates in the first full round; at most as many neighbors of the best follow."""
        return max(LEADERS, self.budget // 4)

    @property
    def effort(self) -> int:
        """An upper bound of the number of jobs to simulate, for the progress bar."""
        if self.screen is None:
            return (self.budget + 1) * self.full.effort
        return (self.budget + 1) * self.screen.effort + (2 * self.finalists + 1) * self.full.effort


def plan(
    variables: Sequence[Variable], seeds: Sequence[int], jobs: int, budget: int, seed: int = 0
) -> SearchPlan:
    """Plans a search of at most `budget` candidates."""
    grid = size(variables)
    if grid <= budget:
        return SearchPlan(SearchStage(seeds, jobs), None, grid, seed)
    screen = SearchStage(seeds[:SCREEN_SEEDS], max(1, round(SCREEN_SHARE * jobs)))
    return SearchPlan(SearchStage(seeds, jobs), screen, budget, seed)


Evaluate = Callable[[Sequence[Candidate], SearchStage], Sequence[Sequence[Measured]]]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search."""

    present: Score
    scores: Sequence[Score]  # of all candidates simulated in full, including the present settings
    screened: int  # number of candidates that were screened

    @property
    def best(self) -> Score:
        """The best score by rank."""
        return min(self.scores, key=lambda score: score.rank)


class Search:
    """Searches for the cheapest candidate that meets the goals. The same inputs give the same result."""

    def __init__(
        self, candidates: Candidates, goals: Sequence[WaitLimit], plan: SearchPlan, evaluate: Evaluate
    ) -> None:
        self._candidates, self._goals, self._plan, self._evaluate = candidates, goals, plan, evaluate

    def run(self) -> SearchResult:
        """Runs the search."""
        if self._plan.screen is None:
            points = product(*(range(len(variable.values)) for variable in self._candidates.variables))
            full = self._round(self._plan.full, points)
            return SearchResult(full.present, full.scores, 0)
        screened = self._screened(self._plan.screen)
        full = self._round(self._plan.full, _finalists(screened.by_point, self._plan.finalists))
        self._refine(full, 2 * self._plan.finalists)
        return SearchResult(full.present, full.scores, len(screened.by_point))

    def _round(self, stage: SearchStage, points: Iterable[Point]) -> "_Round":
        return _Round(self._candidates, self._goals, stage, self._evaluate, points)

    def _screened(self, stage: SearchStage) -> "_Round":
        """Screens a sample of points, and then repeatedly the neighbors of the best."""
        budget = self._plan.budget
        done = self._round(stage, self._spread(max(1, budget // 2)))
        while remaining := budget - len(done.by_point):
            ranked = sorted(done.by_point, key=lambda point: (done.by_point[point].rank, point))
            near = (point for leader in ranked[:LEADERS] for point in self._neighbors(leader))
            if not done.add(self._new(near, done, min(BATCH, remaining))):
                break
        return done

    def _refine(self, done: "_Round", budget: int) -> None:
        """Simulates the neighbors of the best in full until none of them is better."""
        while done.by_point and (remaining := budget - len(done.by_point)) > 0:
            best = min(done.by_point, key=lambda point: (done.by_point[point].rank, point))
            if not done.add(self._new(self._neighbors(best), done, remaining)):
                return

    def _spread(self, count: int) -> list[Point]:
        """Returns valid points: the lowest, middle and highest values, and then a Latin hypercube."""
        points = _points(
            [len(variable.values) for variable in self._candidates.variables], Random(self._plan.seed)
        )
        chosen: dict[Point, None] = {}
        for _, point in zip(range(TRIES * count), points, strict=False):
            if point not in chosen and self._candidates.at(point) is not None:
                chosen[point] = None
            if len(chosen) == count:
                break
        return list(chosen)

    def _neighbors(self, point: Point) -> Iterator[Point]:
        """Yields the points that differ by one step in one variable, or in two in the same direction, as a
        quota and its pool must."""
        places = range(len(point))
        sizes = [len(variable.values) for variable in self._candidates.variables]
        moves = [*((at,) for at in places), *combinations(places, 2)]
        for move, step in product(moves, (-1, 1)):
            near = tuple(n + step if at in move else n for at, n in enumerate(point))
            if all(0 <= n < count for n, count in zip(near, sizes, strict=True)):
                yield near

    def _new(self, points: Iterable[Point], done: "_Round", count: int) -> list[Point]:
        chosen: dict[Point, None] = {}
        for point in points:
            if point not in done.by_point and self._candidates.at(point) is not None:
                chosen[point] = None
            if len(chosen) == count:
                break
        return list(chosen)


class _Round:
    """Candidates that were simulated in one stage; the present settings are part of the first batch."""

    def __init__(
        self,
        candidates: Candidates,
        goals: Sequence[WaitLimit],
        stage: SearchStage,
        evaluate: Evaluate,
        points: Iterable[Point],
    ) -> None:
        self._candidates, self._goals, self._stage, self._evaluate = candidates, goals, stage, evaluate
        valid = self._valid(points)
        now, *results = evaluate([candidates.present, *(candidate for _, candidate in valid)], stage)
        self._never_now = fmean(future.never for future in now)
        self.present = score(candidates.present, now, goals, self._never_now)
        self.by_point: dict[Point, Score] = {}
        self._store(valid, results)

    @property
    def scores(self) -> list[Score]:
        now = self.present.candidate
        return [self.present, *(score for score in self.by_point.values() if score.candidate is not now)]

    def add(self, points: Iterable[Point]) -> bool:
        """Simulates the valid points; returns whether there were any."""
        valid = self._valid(points)
        self._store(valid, self._evaluate([candidate for _, candidate in valid], self._stage))
        return bool(valid)

    def _valid(self, points: Iterable[Point]) -> list[tuple[Point, Candidate]]:
        pairs = ((point, self._candidates.at(point)) for point in points)
        return [(point, candidate) for point, candidate in pairs if candidate is not None]

    def _store(self, valid: Sequence[tuple[Point, Candidate]], results: Sequence[Sequence[Measured]]) -> None:
        for (point, candidate), futures in zip(valid, results, strict=True):
            self.by_point[point] = score(candidate, futures, self._goals, self._never_now)


def _points(sizes: Sequence[int], random: Random) -> Iterator[Point]:
    yield tuple(0 for _ in sizes)
    yield tuple(n // 2 for n in sizes)
    yield tuple(n - 1 for n in sizes)
    rows = max(sizes)
    while True:
        # In each column, every value occurs about equally often.
        columns = [[row * n // rows for row in range(rows)] for n in sizes]
        for column in columns:
            random.shuffle(column)
        yield from zip(*columns, strict=True)


def _finalists(scores: dict[Point, Score], count: int) -> list[Point]:
    """Returns the best half by rank, and others from all of the Pareto front: a part of the trace may
    underestimate waits, and then the answer is a more expensive candidate."""
    ranked = sorted(scores, key=lambda point: (scores[point].rank, point))
    chosen = dict.fromkeys(ranked[: count // 2])
    on_front = {id(score) for score in front(scores.values())}
    expensive = [point for point in scores if id(scores[point]) in on_front and point not in chosen]
    expensive.sort(key=lambda point: (scores[point].cost, point))
    remaining = count - len(chosen)
    chosen |= dict.fromkeys(expensive[n * len(expensive) // remaining] for n in range(remaining) if expensive)
    return list(dict.fromkeys([*chosen, *ranked]))[:count]
