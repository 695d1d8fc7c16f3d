"""Headroom: the demand at which a limit is first exceeded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import pytest

from muster.forecast.demand.headroom import EVALUATIONS_MAX, STEPS, Headroom, headroom
from muster.forecast.limits import WITHIN, WaitLimit
from muster.forecast.report.headroom import QueueHeadroom, headroom_document, headroom_tables

HOUR = WaitLimit("a", "", "p90", 3600)
LEVEL = WaitLimit("a", "", WITHIN, 600, 0.95)


@dataclass(frozen=True)
class Case:
    value: Callable[[float], float]
    factor: float | None
    growth: str


CASES = {
    "between two steps": Case(lambda factor: 3600 * factor / 1.18 + 1, 1.18, "+18%"),
    "at the first step": Case(lambda factor: 3600 * factor, 1.01, "+1%"),
    "never": Case(lambda factor: 3600, None, "not up to +100%"),
    "at present": Case(lambda factor: 3601, 1.0, "exceeded now"),
    "by jobs that never start": Case(lambda factor: 0 if factor < 1.5 else inf, 1.5, "+50%"),
    "twice: the first time counts": Case(
        lambda factor: 9999 * (1.1 < factor < 1.3 or factor > 1.6), 1.11, "+11%"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_smallest_growth_that_exceeds_a_limit(name: str) -> None:
    case, tried = CASES[name], list[float]()

    def measure(factor: float) -> Sequence[float]:
        tried.append(factor)
        return [case.value(factor)]

    (answer,) = headroom([HOUR], measure)
    assert answer.factor == case.factor
    assert answer.present == case.value(1)
    assert answer.value == case.value(case.factor or STEPS[-1])
    assert QueueHeadroom("b", HOUR, answer).growth == case.growth
    assert len(tried) == len(set(tried)) <= EVALUATIONS_MAX


def test_limits_share_their_simulations() -> None:
    tried = list[float]()

    def measure(factor: float) -> Sequence[float]:
        tried.append(factor)
        return [3600 * factor, 0.04 * factor]

    assert [answer.factor for answer in headroom([HOUR, LEVEL], measure)] == [1.01, 1.26]
    assert len(tried) == len(set(tried))


def test_waits_and_shares_are_shown_as_such() -> None:
    rows = [
        QueueHeadroom("all", HOUR, Headroom(1.5, 60, inf)),
        QueueHeadroom("b", LEVEL, Headroom(None, 0.01, 0.05)),
    ]
    (table,) = headroom_tables(rows)
    assert table.rows == [
        ("all", "a p90 <= 1h00m", "1m00s", "+50%", "never"),
        ("b", "a within 10m00s >= 95.0%", "99.0%", "not up to +100%", "95.0%"),
    ]
    assert [(row["factor"], row["value"]) for row in headroom_document(rows)] == [(1.5, None), (None, 0.05)]
    assert headroom_tables([]) == []
