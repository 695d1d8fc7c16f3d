"""The range of a start: its annotation, and whether it has moved."""

import json
from dataclasses import dataclass

import pytest

from muster.forecast.start_estimates import StartEstimate
from muster.live.eta.start_range import StartRange, start_range
from tests.unit.controller.builders import NOW_MS


def after(*minutes: float | None, at_ms: int = NOW_MS) -> StartRange:
    p10_ms, p50_ms, p90_ms = (None if m is None else NOW_MS + round(60_000 * m) for m in minutes)
    return StartRange(at_ms, p10_ms, p50_ms, p90_ms, 20)


@dataclass(frozen=True)
class Case:
    before: StartRange
    now: StartRange
    has_moved: bool


CASES: dict[str, Case] = {
    "the same": Case(after(10, 20, 30), after(10, 20, 30), False),
    "by a few seconds": Case(after(0.1, 0.2, 0.3), after(0.2, 0.3, 0.4), False),
    "by half a minute of a few": Case(after(1, 2, 3), after(1.5, 2.5, 3.5), True),
    "the median, by a minute of a few": Case(after(1, 2, 3), after(1, 3, 3), True),
    "by a minute of an hour": Case(after(60, 60, 60), after(61, 61, 61), False),
    "by a fifth": Case(after(60, 60, 60), after(60, 75, 75), True),
    "only its upper end": Case(after(60, 60, 60), after(60, 60, 120), True),
    "only its lower end": Case(after(60, 60, 60), after(30, 60, 60), True),
    "time has passed": Case(after(10, 20, 30), after(10, 20, 30, at_ms=NOW_MS + 300_000), False),
    "to never": Case(after(10, 20, 30), after(10, 20, None), True),
    "from never": Case(after(10, None, None), after(10, 20, None), True),
    "never, as before": Case(after(None, None, None), after(None, None, None), False),
}


@pytest.mark.parametrize("name", CASES)
def test_estimate_has_moved_if_a_reader_would_notice(name: str) -> None:
    case = CASES[name]
    assert case.now.has_moved(case.before) == case.has_moved


def test_annotation_has_the_range_as_json() -> None:
    estimate_range = start_range(
        StartEstimate(NOW_MS, [NOW_MS + 60_000 * n for n in range(10)] + [None] * 10, {})
    )
    assert json.loads(estimate_range.annotation) == {
        "p10": "2027-01-15T08:01:06Z",
        "p50": None,
        "p90": None,
        "futures": 20,
        "at": "2027-01-15T08:00:00Z",
    }
