"""The search: whole grids, spreads and neighbours, with made-up waits for each candidate."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from muster.forecast.costs.prices import Prices
from muster.forecast.recommend.candidates import Built, Candidate, Candidates
from muster.forecast.recommend.errors import InvalidCandidate
from muster.forecast.recommend.goals import Measured
from muster.forecast.recommend.search import Search, SearchResult, SearchStage, plan
from muster.forecast.recommend.variables import parse_variables
from tests.unit.forecast.recommend.builders import CONFIG, built, candidates, goals, waits

BUILT = built(CONFIG)
GOALS = goals("mean <= 60s")
GRID = ("queues.a.l4=1..8", "queues.b.l4=4..8")


class Simulated:
    """Gives waits by a function of a candidate's values, and keeps what was asked."""

    def __init__(self, wait: Callable[..., float], never: Callable[..., int] = lambda *_: 0) -> None:
        self._wait, self._never = wait, never
        self.asked: list[tuple[Candidate, SearchStage]] = []

    def __call__(self, candidates: Sequence[Candidate], stage: SearchStage) -> Sequence[Sequence[Measured]]:
        self.asked += ((candidate, stage) for candidate in candidates)
        return [[self._measured(candidate)] * len(stage.seeds) for candidate in candidates]

    def _measured(self, candidate: Candidate) -> Measured:
        values = list(candidate.values.values()) or [8, 8]
        return waits(self._wait(*values), wait_s=self._wait(*values), never=self._never(*values))


def searched(
    simulated: Simulated,
    *vary: str,
    budget: int = 64,
    seed: int = 0,
    valid: Callable[..., bool] | None = None,
) -> SearchResult:
    def build(config: Mapping[str, Any]) -> Built:
        quotas = [
            queue["quotas"]["l4"]["nvidia.com/gpu"] for queue in config["muster:queues"]["clusterQueues"]
        ]
        if valid is not None and config is not CONFIG and not valid(*quotas):
            raise InvalidCandidate("refused")
        return BUILT

    combinations_of = Candidates(CONFIG, parse_variables(vary, CONFIG), build, Prices())
    planned = plan(combinations_of.variables, range(4), 100, budget, seed)
    return Search(combinations_of, GOALS, planned, simulated).run()


def values(search_result: SearchResult) -> tuple[Any, ...]:
    return tuple(search_result.best.candidate.values.values())


def test_all_of_a_small_grid_is_simulated_in_full() -> None:
    simulated = Simulated(lambda a, b: 100 - 5 * (a + b))
    search_result = searched(simulated, *GRID)
    assert values(search_result) == (1, 7)
    assert len(search_result.scores) == 40
    assert {(len(stage.seeds), stage.jobs) for _, stage in simulated.asked} == {(4, 100)}


def test_more_quota_may_make_waits_longer() -> None:
    """Only 3 and 6 GPUs meet the goal, as in Graham's anomalies."""
    assert values(searched(Simulated(lambda a, b: 0 if (a, b) == (3, 6) else 70 + a), *GRID)) == (3, 6)


def test_a_candidate_that_starves_jobs_is_not_recommended() -> None:
    search_result = searched(Simulated(lambda a, b: 0, never=lambda a, b: int(a < 4)), *GRID)
    assert values(search_result) == (4, 4)


def test_the_present_settings_are_recommended_if_nothing_cheaper_meets_the_goals() -> None:
    search_result = searched(Simulated(lambda a, b: 0 if a + b == 16 else 90), *GRID)
    assert search_result.best is search_result.present


def test_the_closest_is_the_best_if_no_candidate_meets_the_goals() -> None:
    search_result = searched(Simulated(lambda a, b: 70 + abs(a - 5) + abs(b - 6)), *GRID)
    assert values(search_result) == (5, 6)
    assert not search_result.best.meets


WIDE = ("queues.a.l4=1..8", "queues.b.l4=4..8", "queues.a.weight=1..8", "queues.b.weight=1..8")
SLOPES: dict[str, Callable[..., float]] = {
    "waits fall with all values": lambda a, b, v, w: 140 - 5 * (a + b) - 3 * (v + w),
    "one variable matters": lambda a, b, v, w: 100 - 10 * v,
    "a hill between two valleys": lambda a, b, v, w: 60 + 10 * (abs(a - 3) + abs(b - 6)) - 2 * v,
}


def _wide(simulated: Simulated, seed: int = 0) -> SearchResult:
    return searched(simulated, *WIDE, budget=32, seed=seed)


def _of_wide(wait: Callable[..., float]) -> Simulated:
    return Simulated(lambda *values: wait(*(values if len(values) == 4 else (8, 8, 1, 1))))


@pytest.mark.parametrize("name", SLOPES)
def test_the_best_of_a_wide_grid_has_no_better_neighbour(name: str) -> None:
    wait = SLOPES[name]
    search_result = _wide(_of_wide(wait))
    assert search_result.best.meets
    a, b, v, w = values(search_result)
    cheaper = [(a - 1, b, v, w), (a, b - 1, v, w)]
    assert all(score[0] < 1 or score[1] < 4 or wait(*score) > 60 for score in cheaper)


def test_values_that_only_go_together_change_together() -> None:
    """Two settings that depend on each other, such as a pool and its quotas."""
    search_result = _wide(_of_wide(lambda a, b, v, w: 0 if a == b else 90))
    assert values(search_result)[:2] == (4, 4)


def test_a_wide_grid_stays_within_its_budget() -> None:
    simulated = _of_wide(SLOPES["waits fall with all values"])
    search_result = _wide(simulated)
    tried = {tuple(call.values.values()) for call, stage in simulated.asked if stage.jobs == 25}
    full = {tuple(call.values.values()) for call, stage in simulated.asked if stage.jobs == 100}
    assert len(tried - {()}) == search_result.screened == 32
    assert len(full - {()}) <= 16
    assert {len(stage.seeds) for _, stage in simulated.asked if stage.jobs == 25} == {3}


def test_the_same_seed_asks_for_the_same_candidates() -> None:
    first, second, other = (_of_wide(SLOPES["waits fall with all values"]) for _ in range(3))
    for simulated, seed in ((first, 1), (second, 1), (other, 2)):
        _wide(simulated, seed)
    asked = [[call.changes for call, _ in simulated.asked] for simulated in (first, second, other)]
    assert asked[0] == asked[1] != asked[2]


def test_invalid_candidates_take_nothing_of_the_budget() -> None:
    simulated = Simulated(lambda *values: 90 - (values[0] if len(values) == 4 else 0))
    search_result = searched(simulated, *WIDE, budget=32, valid=lambda a, b: a % 2 == 0)
    assert search_result.screened == 32
    assert all(
        score.candidate.values == {} or values_of(score.candidate)[0] % 2 == 0
        for score in search_result.scores
    )


def values_of(candidate: Candidate) -> list[Any]:
    return list(candidate.values.values())


def test_only_invalid_candidates_leave_the_present_settings() -> None:
    search_result = searched(Simulated(lambda *_: 90), *WIDE, budget=8, valid=lambda *_: False)
    assert search_result.best is search_result.present
    assert len(search_result.scores) == 1


def test_real_settings_make_real_candidates() -> None:
    combinations = candidates("queues.a.l4=4,8", "pools.l4=8,16")
    assert [item is not None for item in (combinations.at((0, 0)), combinations.at((0, 1)))] == [False, True]
