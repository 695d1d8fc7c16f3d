"""The output of `sacct --json`, of several versions of Slurm."""

import json
from pathlib import Path
from typing import Any

import pytest

from muster.forecast.traces import sacct_json
from muster.forecast.traces.read import read
from muster.forecast.traces.trace import TraceError, TraceJob
from tests.unit.forecast.traces.builders import GIB, GPU, job, problems


def record(**changes: Any) -> dict[str, Any]:
    """A job that ran from second 5 to 65 on one GPU, as Slurm 21.08 writes it."""
    return {
        "job_id": 1,
        "account": "research",
        "allocation_nodes": 1,
        "array": {"job_id": 0, "task": None, "task_id": None},
        "het": {"job_id": 0, "job_offset": None},
        "partition": "batch",
        "qos": "high",
        "state": {"current": "COMPLETED", "reason": "None"},
        "time": time(),
        "tres": {"allocated": [], "requested": [tres("gres", 1, "gpu"), tres("node", 1)]},
        "user": "ada",
        **changes,
    }


def time(**changes: Any) -> dict[str, Any]:
    return {"submission": 1_000, "eligible": 1_000, "start": 1_005, "end": 1_065, "limit": 30, **changes}


def tres(kind: str, count: int, name: str | None = None) -> dict[str, Any]:
    return {"type": kind, "name": name, "id": 1, "count": count}


def number(value: int | None) -> dict[str, Any]:
    """A number as Slurm 23.02 and later write it."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


def expected(name: str = "1", **changes: Any) -> TraceJob:
    texts = {"queue": "batch", "priority_class": "high", "user": "ada", "limit_ms": 1_800_000}
    return job(name, **{"waited_ms": 5_000, **texts, **changes})


CASES: dict[str, tuple[dict[str, Any], TraceJob]] = {
    "Slurm 21.08": (record(), expected()),
    "Slurm 23.11": (
        record(
            state={"current": ["COMPLETED"], "reason": "None"},
            time=time(limit=number(30)),
            array={"job_id": 0, "task": "", "task_id": number(None)},
            het={"job_id": 0, "job_offset": number(None)},
        ),
        expected(),
    ),
    "cpu, memory and nodes": (
        record(
            tres={"requested": [tres("cpu", 8), tres("mem", 2_048), tres("node", 2), tres("gres", 4, "gpu")]}
        ),
        expected(pods=2, requests={"cpu": 4_000, "memory": GIB, GPU: 2}),
    ),
    "allocated resources if none are requested": (
        record(tres={"requested": [], "allocated": [tres("gres", 2, "gpu")]}),
        expected(requests={GPU: 2}),
    ),
    "no limit": (
        record(time=time(limit={"set": True, "infinite": True, "number": 0})),
        expected(limit_ms=None),
    ),
    "a task of an array": (
        record(array={"job_id": 7, "task": "", "task_id": number(0)}),
        expected("7_0"),
    ),
    "cancelled before it started": (
        record(time=time(start=0, end=1_009), state={"current": ["CANCELLED"]}),
        expected(run=None, waited_ms=None, cancelled_ms=9_000),
    ),
    "a heterogeneous job": (
        record(het={"job_id": 1_007, "job_offset": number(0)}),
        expected("1007"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_record_of_sacct_is_read_as_a_job(name: str) -> None:
    text, read_job = CASES[name]
    trace = sacct_json.read(json.dumps({"jobs": [text]}), "log")
    assert (list(trace.jobs), problems(trace)) == ([read_job], [])


def test_pending_tasks_of_an_array_are_jobs() -> None:
    pending = record(
        array={"job_id": 7, "task": "1-2", "task_id": number(None)},
        time=time(start=0, end=0),
        state={"current": ["PENDING"]},
    )
    trace = sacct_json.read(json.dumps({"jobs": [pending]}), "log")
    assert [read_job.name for read_job in trace.jobs] == ["7_1", "7_2"]


def test_bad_records_are_counted() -> None:
    trace = sacct_json.read(json.dumps({"jobs": [None, record(), record(tres=5)]}), "log")
    assert [read_job.name for read_job in trace.jobs] == ["1"]
    assert problems(trace) == [
        "1: 0 columns: expected 13, as in the header",
        "3: TRES '': expected cpu, mem or gres/gpu",
    ]


@pytest.mark.parametrize("text", ["[", "[]", '{"jobs": 5}', '"\\ud800"'])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(TraceError, match="expected the output of sacct --json"):
        sacct_json.read(text, "log")


@pytest.mark.parametrize("indent", [None, 1])
def test_the_format_is_detected(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "log"
    path.write_text(json.dumps({"meta": {}, "jobs": [record()]}, indent=indent))
    assert list(read(path).trace.jobs) == [expected()]
