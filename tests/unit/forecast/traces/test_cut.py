"""Cuts traces to a window of time."""

from muster.forecast.traces.cut import AFTER, BEFORE, cut
from muster.forecast.traces.trace import Trace
from tests.unit.forecast.traces.builders import job

TRACE = Trace("log", [job(str(n), n * 10) for n in range(5)], skipped={BEFORE: 2}, begins_ms=1_000_000)


def test_jobs_of_the_window_are_kept_and_count_from_the_first_of_them() -> None:
    cut_trace = cut(TRACE, since_ms=10_000, until_ms=30_000)
    assert list(cut_trace.jobs) == [job("1", 0), job("2", 10)]
    assert cut_trace.begins_ms == 1_010_000


def test_jobs_outside_of_the_window_are_counted() -> None:
    assert cut(TRACE, since_ms=10_000, until_ms=30_000).skipped == {BEFORE: 2 + 1, AFTER: 2}


def test_window_without_an_end_keeps_the_rest() -> None:
    cut_trace = cut(TRACE, since_ms=15_000)
    assert [(each.name, each.submit_ms) for each in cut_trace.jobs] == [
        ("2", 0),
        ("3", 10_000),
        ("4", 20_000),
    ]


def test_window_without_limits_keeps_the_trace() -> None:
    assert cut(TRACE) == TRACE


def test_window_without_jobs_is_an_empty_trace() -> None:
    assert (list(cut(TRACE, since_ms=50_000).jobs), cut(TRACE, until_ms=0).skipped[AFTER]) == ([], 5)


def test_trace_of_no_known_beginning_stays_without_one() -> None:
    assert cut(Trace("log", [job(submit=10)]), since_ms=5_000).begins_ms is None
