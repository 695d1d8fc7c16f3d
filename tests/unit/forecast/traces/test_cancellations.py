"""The option for jobs that were cancelled before they started."""

import pytest

from muster.forecast.traces.cancellations import RUNS, SKIPPED, Cancellations, treated
from muster.forecast.traces.trace import Trace, TraceJob
from tests.unit.forecast.traces.builders import job

RAN, CANCELLED = job("ran"), job("cancelled", run=None, cancelled_ms=9_000)
TREATMENTS: dict[Cancellations, tuple[list[TraceJob], dict[str, int]]] = {
    Cancellations.LEAVE: ([RAN, CANCELLED], {}),
    Cancellations.SKIP: ([RAN], {SKIPPED: 1}),
    Cancellations.RUN: ([RAN, job("cancelled", run=None)], {RUNS: 1}),
}


@pytest.mark.parametrize("treatment", Cancellations)
def test_cancelled_jobs_are_treated_by_the_option(treatment: Cancellations) -> None:
    trace = treated(Trace("trace", [RAN, CANCELLED]), treatment)
    assert (list(trace.jobs), {**trace.skipped, **trace.adjusted}) == TREATMENTS[treatment]
