"""The public trace that MUSTER_PUBLIC_TRACES has, in full: Alibaba's cluster-trace-gpu-v2023."""

import os
from pathlib import Path

import pytest

from muster.forecast.traces.cut import AFTER, BEFORE, cut
from muster.forecast.traces.read import read
from muster.forecast.traces.rows import ROUNDED
from tests.unit.forecast.traces.builders import GPU

OPENB = Path(os.environ.get("MUSTER_PUBLIC_TRACES", "")) / "openb_pod_list_default.csv"

pytestmark = pytest.mark.skipif(
    not OPENB.is_file(),
    reason=f"{OPENB.name} is not there: set MUSTER_PUBLIC_TRACES to the folder of the public traces",
)


def test_every_row_of_openb_is_a_job() -> None:
    trace = read(OPENB).trace
    assert (len(trace.jobs), trace.bad_count, trace.skipped) == (8_152, 0, {})
    assert sum(job.run_ms is None for job in trace.jobs) == 897
    assert trace.adjusted == {ROUNDED: 3_078}
    gpus = [job.requests.get(GPU, 0) for job in trace.jobs]
    assert (max(gpus), round(gpus.count(1) / len(gpus), 2)) == (8, 0.86)


def test_openb_is_cut_to_its_busy_end() -> None:
    trace = cut(read(OPENB).trace, since_ms=10**10)
    assert trace.skipped == {BEFORE: 58}
    assert len(trace.jobs) == 8_152 - 58
    assert trace.jobs[0].submit_ms == 0
    assert round(trace.jobs[-1].submit_ms / 86_400_000, 1) == 33.6
    assert cut(trace, until_ms=86_400_000).skipped[AFTER] > 0
