"""The Standard Workload Format: fields, unknown values, header comments, bad lines."""

import pytest

from muster.forecast.traces import swf
from muster.forecast.traces.rows import ROUNDED
from muster.forecast.traces.swf import SwfOptions
from muster.forecast.traces.trace import TraceError, TraceJob
from tests.unit.forecast.traces.builders import GPU, job, problems

FIELDS = [
    *("number", "submit", "wait", "run", "allocated", "cpu_time", "memory", "requested", "limit"),
    *("memory_limit", "status", "user", "group", "program", "queue", "partition", "before", "think"),
]


def line(**values: object) -> str:
    """A line with these fields; the others are unknown, except for a run time of a minute on a processor."""
    columns: dict[str, object] = {"number": 1, "submit": 0, "wait": 0, "run": 60, "allocated": 1, "status": 1}
    return " ".join(str((columns | values).get(field, -1)) for field in FIELDS)


JOBS: dict[str, tuple[str, TraceJob]] = {
    "all that is used": (
        line(number=7, wait=5, requested=8, limit=3600, user=3, queue=2),
        job("7", waited_ms=5_000, requests={GPU: 8}, limit_ms=3_600_000, user="3", queue="2"),
    ),
    "requested processors count more than allocated": (
        line(allocated=8, requested=4),
        job(waited_ms=0, requests={GPU: 4}),
    ),
    "allocated processors if none are requested": (
        line(allocated=2, requested=-1),
        job(waited_ms=0, requests={GPU: 2}),
    ),
    "more processors than one pod has": (
        line(requested=24),
        job(waited_ms=0, pods=3, requests={GPU: 8}),
    ),
    "processors that fill no pod are spread evenly": (
        line(requested=12),
        job(waited_ms=0, pods=2, requests={GPU: 6}),
    ),
    "an unknown run time": (line(run=-1), job(run=None, waited_ms=0)),
    "an unknown wait": (line(wait=-1), job(waited_ms=None)),
    "a run time of 0 is less than half a second": (line(run=0), job(run=0.5, waited_ms=0)),
    "cancelled before it ran": (
        line(run=0, status=5, allocated=0, requested=1, wait=9),
        job(run=None, cancelled_ms=9_000),
    ),
    "cancelled before it ran, with unknown fields": (
        line(run=-1, status=5, allocated=-1, requested=1, wait=9),
        job(run=None, cancelled_ms=9_000),
    ),
    "cancelled while it ran": (line(run=0, status=5, allocated=1), job(run=0.5, waited_ms=0)),
    "times with decimals": (line(run="1.25"), job(run=1.25, waited_ms=0)),
}


@pytest.mark.parametrize("name", JOBS)
def test_swf_line_is_read_as_a_job(name: str) -> None:
    text, expected = JOBS[name]
    trace = swf.read([text], "log")
    assert list(trace.jobs) == [expected]
    assert (trace.bad_count, trace.skipped, trace.adjusted) == (0, {}, {})


BAD_LINES = {
    "too few fields": ("1 2 3", "1: 3 fields: expected the 18 of the Standard Workload Format"),
    "cancelled at an unknown time": (
        line(run=0, status=5, allocated=0, requested=1, wait=-1),
        "1: wait time (field 3) is unknown: expected the time until the job was cancelled",
    ),
    "too many fields": (f"{line()} 5", "1: 19 fields: expected the 18 of the Standard Workload Format"),
    "submit time is a word": (line(submit="noon"), "1: submit time (field 2) is 'noon': expected a number"),
    "submit time is not known": (line(submit=-1), "1: submit time (field 2) is -1 s: expected 0 or more"),
    "run time is negative": (line(run=-60), "1: run time (field 4) is -60 s: expected 0 or more"),
    "run time is no number": (line(run="nan"), "1: run time (field 4) is 'nan': expected a number"),
    "wait is negative": (line(wait=-2), "1: wait time (field 3) is -2 s: expected 0 or more"),
    "run time is beyond all measure": (
        line(run="1e300"),
        "1: run time (field 4) is '1e300': expected at most 1,000,000,000,000 s",
    ),
    "no processors": (
        line(allocated=0),
        "1: no processors: expected 1 or more in field 8 (requested) or 5 (allocated)",
    ),
    "half a processor": (
        line(requested="1.5"),
        "1: requested processors (field 8) is '1.5': expected a whole number",
    ),
    "negative processors": (
        line(requested="-4"),
        "1: requested processors (field 8) is '-4': expected 1 to 2,147,483,647",
    ),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_bad_swf_line_is_left_out_and_explained(name: str) -> None:
    text, expected = BAD_LINES[name]
    trace = swf.read([text, line(number=2)], "log")
    assert problems(trace) == [expected]
    assert trace.bad[0].where == "log:1"
    assert [job.name for job in trace.jobs] == ["2"]


def test_parts_of_a_swapped_job_are_skipped() -> None:
    lines = [line(status=1), line(status=2, submit=-1), line(status=3, submit=-1), line(status=4, submit=-1)]
    trace = swf.read(lines, "log")
    assert len(trace.jobs) == 1
    assert trace.skipped == {"part of a job, summarized by another line": 3}


def test_header_comments_tell_the_machine_and_when_the_log_begins() -> None:
    header = ["; Version: 2.2", ";  MaxProcs:   128 ", "; UnixStartTime: 842749200", ";", "; a remark", ""]
    trace = swf.read([*header, line(submit=100)], "log")
    assert trace.header == {"Version": "2.2", "MaxProcs": "128", "UnixStartTime": "842749200"}
    assert trace.begins_ms == (842749200 + 100) * 1000
    assert trace.jobs[0].submit_ms == 0


@pytest.mark.parametrize("start", ["", "; UnixStartTime: 0", "; UnixStartTime: monday"])
def test_beginning_of_a_log_without_a_start_time_is_not_known(start: str) -> None:
    assert swf.read([start, line()], "log").begins_ms is None


def test_unsorted_lines_are_sorted_and_count_from_the_first_submission() -> None:
    trace = swf.read([line(number=n, submit=s) for n, s in ((1, 50), (2, 20), (3, 90))], "log")
    assert [(j.name, j.submit_ms) for j in trace.jobs] == [("2", 0), ("1", 30_000), ("3", 70_000)]


def test_processors_are_what_the_options_say() -> None:
    options = SwfOptions(resource="cpu", processors_per_pod=2, queue="partition")
    trace = swf.read([line(requested=5, queue=1, partition=9)], "log", options)
    assert list(trace.jobs) == [job(pods=3, requests={"cpu": 1667}, queue="9", waited_ms=0)]
    assert trace.adjusted == {ROUNDED: 1}


def test_pod_without_processors_is_refused() -> None:
    with pytest.raises(TraceError, match="processors per pod: 0; expected 1 or more"):
        SwfOptions(processors_per_pod=0)


def test_jobs_that_request_the_same_share_it() -> None:
    first, second = swf.read([line(requested=4), line(requested=4)], "log").jobs
    assert first.requests is second.requests


def test_details_of_bad_rows_are_kept_up_to_a_limit() -> None:
    trace = swf.read(["?"] * 1_500, "log")
    assert (len(trace.bad), trace.bad_count) == (1_000, 1_500)
