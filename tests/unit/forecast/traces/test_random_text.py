"""Any text is read: a row that is no job is bad or skipped, and readers raise only TraceError."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.forecast.traces import csv_rows, journal, kueue_generator, sacct, swf, synthetic
from muster.forecast.traces.csv_mapping import PRESETS, from_text, from_yaml
from muster.forecast.traces.trace import Trace, TraceError
from tests.unit.forecast.traces.builders import Reader

# Plausible values, and values that break parsers.
VALUES = st.one_of(
    st.sampled_from(
        [
            *("", "0", "1", "-1", "8", "1.5", "-0.0", "1e5", "1e309", "nan", "inf", "١٢", "1_000", " 7 "),
            *(
                "9" * 25,
                "9" * 5_000,
                "0x10",
                "None",
                "Unknown",
                "2026-03-01T10:00:00",
                "0001-01-01",
                "9999-12-31",
            ),
            *(
                "0001-01-01T00:00:00+23:59",
                "24:00",
                "cpu=1",
                "gres/gpu=2,node=3",
                "mem=1e9T",
                "mem=.K",
                "7_[1-3]",
            ),
            *(
                "7_[3-1:0]",
                "7.batch",
                "1-00:00:00",
                "CANCELLED by 5",
                "500m",
                "64Gi",
                '"',
                "'",
                "\0",
                "é",
                "|",
                ",",
            ),
        ]
    ),
    st.text(max_size=8),
    st.integers().map(str),
    st.floats().map(str),
)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def lines_like(good: list[str], separator: str) -> st.SearchStrategy[list[str]]:
    """Lines with up to three values of a good line replaced, and lines of any text."""

    def replaced(changes: dict[int, str]) -> str:
        return separator.join(changes.get(index, value) for index, value in enumerate(good))

    changes = st.dictionaries(st.integers(0, len(good) - 1), VALUES, max_size=3)
    return st.lists(changes.map(replaced) | st.text(max_size=60), max_size=8)


RECORD = {
    "version": 1,
    "uid": "u",
    "namespace": "n",
    "name": "w",
    "kind": "RayJob",
    "outcome": "Succeeded",
    "createdAt": "2026-03-01T10:00:00Z",
    "admittedAt": "2026-03-01T10:00:05Z",
    "finishedAt": "2026-03-01T10:01:05Z",
    "podSets": [{"name": "w", "count": 2, "requests": {"cpu": "1"}}],
}


def records() -> st.SearchStrategy[list[str]]:
    """Records of the journal with up to two values replaced, and lines of any text. Each has its own uid."""
    requests = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu", ""]), VALUES, max_size=3)
    pods = st.fixed_dictionaries({"name": st.just("w"), "count": st.integers(), "requests": requests})
    pod_sets = st.lists(pods, max_size=3).map(lambda value: {"podSets": value})
    changes = st.dictionaries(st.sampled_from(sorted(RECORD)), json_values, max_size=2) | pod_sets
    lines = st.lists(changes | st.text(max_size=60), max_size=8)
    return lines.map(lambda value: [_record(change, uid) for uid, change in enumerate(value)])


def _record(change: Mapping[str, Any] | str, uid: int) -> str:
    if isinstance(change, str):
        return change
    return msgspec.json.encode({**RECORD, "uid": f"u{uid}", **change}).decode()


CSV_HEADER = "a,b,c,d,e,f,g,h,i,j"
CSV = ["0", "5", "65", "60", "2", "8", "16", "32", "1000", "high"]
CSV_MAPPING = from_text(
    "name=j,submit=a,start=b,end=c,run=d,pods=e,gpus=f,cpus=g,memory=h:Gi,gpuShare=i:m,class=j"
)
TOTALS = from_text(
    "submit=a,wait=b,limit=c,pods=e,gpus=f:%,cpus=g:m,google.com/tpu=h,queue=i,state=j,totals=true"
)
PAI = ["j", "worker", "2.0", "Terminated", "100.0", "160.0", "600.0", "29.3", "50.0", "V100"]
TIMES = [f"2026-03-01T10:{minute:02}:00" for minute in (0, 0, 1, 5)]
SACCT = [
    "1",
    *TIMES,
    "COMPLETED",
    "30:00",
    "cpu=8,gres/gpu=2,node=2",
    "2",
    "batch",
    "high",
    "ada",
    "research",
]

READERS: dict[str, tuple[Reader, list[str], st.SearchStrategy[list[str]]]] = {
    "swf": (lambda lines: swf.read(lines, "x"), [], lines_like(["1"] * swf.FIELDS, " ")),
    "csv": (lambda lines: csv_rows.read(lines, "x", CSV_MAPPING), [CSV_HEADER], lines_like(CSV, ",")),
    "csv of totals": (lambda lines: csv_rows.read(lines, "x", TOTALS), [CSV_HEADER], lines_like(CSV, ",")),
    "csv without a header": (
        lambda lines: csv_rows.read(lines, "x", PRESETS["pai"]),
        [],
        lines_like(PAI, ","),
    ),
    "sacct": (lambda lines: sacct.read(lines, "x"), [sacct.FORMAT.replace(",", "|")], lines_like(SACCT, "|")),
    "journal": (lambda lines: journal.read([("x", lines)], "x"), [], records()),
}


def counted(trace: Trace) -> int:
    return len(trace.jobs) + trace.bad_count + sum(trace.skipped.values())


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_every_row_is_a_job_or_bad_or_skipped(name: str, data: st.DataObject) -> None:
    reader, header, drawn = READERS[name]
    lines = data.draw(drawn)
    trace = reader([*header, *lines])
    assert all(job.submit_ms >= 0 and job.pods >= 1 and job.requests for job in trace.jobs)
    assert all(job.run_ms is None or job.run_ms >= 0 for job in trace.jobs)
    assert [job.submit_ms for job in trace.jobs] == sorted(job.submit_ms for job in trace.jobs)
    if name != "sacct":  # where a line may be an array of jobs
        blank = sum(not line.strip() or (name == "swf" and line.split()[0].startswith(";")) for line in lines)
        assert counted(trace) == len(lines) - blank


@given(st.lists(st.text(max_size=60), max_size=8))
@pytest.mark.parametrize("name", READERS)
def test_any_text_is_a_trace_or_refused_for_its_header(name: str, lines: list[str]) -> None:
    reader, _, _ = READERS[name]
    with suppress(TraceError):
        assert counted(reader(lines)) <= len(lines) or name == "sacct"


@given(st.text(max_size=80) | json_values.map(lambda value: msgspec.json.encode(value).decode()))
def test_any_yaml_is_read_or_refused(text: str) -> None:
    for read in (
        lambda: kueue_generator.read(text, "x"),
        lambda: from_yaml(text, "x"),
        lambda: synthetic.from_yaml(text, "x"),
    ):
        with suppress(TraceError):
            read()
