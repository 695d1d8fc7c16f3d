"""Scores: which candidate is better, and the Pareto front."""

from itertools import product
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.forecast.recommend.scores import Score, front, score
from tests.unit.forecast.recommend.builders import goals, scored, waits

BETTER: dict[str, tuple[Score, Score]] = {
    "the cheaper of two that meet the goal": (scored(1, 60, wait_s=9), scored(2, 1)),
    "the shorter wait at the same cost": (scored(1, 60, wait_s=1), scored(1, 1, wait_s=2)),
    "the smaller pool at the same cost and wait": (
        scored(1, 60, size=(36, 40)),
        scored(1, 60, size=(48, 36)),
    ),
    "the smaller quota in the same pool": (scored(1, 90, size=(36, 36)), scored(1, 90, size=(36, 40))),
    "a candidate that meets the goal before a cheaper one": (scored(9, 60), scored(1, 61)),
    "the smaller excess before a cheaper one": (scored(9, 70), scored(1, 90)),
    "any excess before jobs that never start": (scored(9, 1000), scored(1, inf, never=1)),
    "fewer jobs that never start": (scored(9, inf, never=1), scored(1, inf, never=2)),
    "a candidate that starts all jobs before a cheaper one": (scored(9, 60), scored(1, 0, never=1)),
}


@pytest.mark.parametrize("name", BETTER)
def test_the_better_candidate_has_the_lower_rank(name: str) -> None:
    better, other = BETTER[name]
    assert better.rank < other.rank


def test_jobs_that_never_start_at_present_either_are_no_fault() -> None:
    candidate = scored(1, 1).candidate
    futures = [waits(30, never=2), waits(50, never=4)]
    assert score(candidate, futures, goals("mean <= 60s"), 3).meets
    assert not score(candidate, futures, goals("mean <= 60s"), 2).meets


def test_a_goal_is_met_by_the_mean_of_the_futures() -> None:
    scored_candidate = score(
        scored(1, 1).candidate, [waits(30), waits(80), waits(90)], goals("mean <= 70s"), 0
    )
    assert scored_candidate.meets
    assert (scored_candidate.futures_met, scored_candidate.futures) == (1, 3)
    assert scored_candidate.values == (200 / 3,)


def test_the_front_is_what_nothing_is_better_than() -> None:
    cheap, better, worse = scored(1, 90, wait_s=9), scored(2, 60, wait_s=5), scored(2, 60, wait_s=6)
    dear, twin = scored(3, 60, wait_s=5), scored(2, 60, wait_s=5)
    assert [id(score) for score in front([dear, worse, better, twin, cheap])] == [id(better), id(cheap)][::-1]


def test_of_equal_candidates_the_smallest_is_on_the_front() -> None:
    large, small = scored(1, 60, size=(48, 36)), scored(1, 60, size=(36, 36))
    assert [id(score) for score in front([large, small])] == [id(small)]


POINTS = [scored(cost, value, wait) for cost, value, wait in product((1, 2, 3), (60, 90, inf), (0, 5))]


@given(st.lists(st.sampled_from(POINTS), min_size=1, max_size=8))
def test_each_candidate_is_on_the_front_or_worse_than_one_on_it(scores: list[Score]) -> None:
    front_scores = front(scores)
    for scored_candidate in scores:
        equal = any(other.objectives == scored_candidate.objectives for other in front_scores)
        beaten = any(
            all(a <= b for a, b in zip(other.objectives, scored_candidate.objectives, strict=True))
            for other in front_scores
        )
        assert equal or beaten
    for scored_candidate, other in product(front_scores, front_scores):
        assert scored_candidate is other or any(
            a < b for a, b in zip(scored_candidate.objectives, other.objectives, strict=True)
        ), "a row of the front is no better than another in anything"


@given(st.lists(st.sampled_from(POINTS), min_size=1, max_size=8))
def test_the_best_is_as_good_as_a_row_of_the_front(scores: list[Score]) -> None:
    best = min(scores, key=lambda item: item.rank)
    assert best.objectives in [score.objectives for score in front(scores)]
