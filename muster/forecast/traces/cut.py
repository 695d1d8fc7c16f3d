"""Cuts a trace to a window of time."""

from bisect import bisect_left
from collections import Counter
from dataclasses import replace
from operator import attrgetter

from muster.forecast.traces.rows import moved
from muster.forecast.traces.trace import Trace

BEFORE = "submitted before the window"
AFTER = "submitted after the window"


def cut(trace: Trace, since_ms: int = 0, until_ms: int | None = None) -> Trace:
    """Returns the jobs submitted from `since_ms` (inclusive) until `until_ms` (exclusive), relative to the
    start of the trace, as a trace that starts with the first of them. The other jobs are counted as
    skipped."""
    jobs = trace.jobs
    first = bisect_left(jobs, since_ms, key=attrgetter("submit_ms"))
    end = (
        len(jobs) if until_ms is None else bisect_left(jobs, until_ms, lo=first, key=attrgetter("submit_ms"))
    )
    begin_ms = jobs[first].submit_ms if first < end else 0
    skipped = Counter(trace.skipped)
    skipped[BEFORE] += first
    skipped[AFTER] += len(jobs) - end
    return replace(
        trace,
        jobs=[moved(job, -begin_ms) for job in jobs[first:end]],
        skipped=+skipped,
        begins_ms=None if trace.begins_ms is None else trace.begins_ms + begin_ms,
    )
