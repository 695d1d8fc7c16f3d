"""Sizes of autoscaled jobs in the journal, read as their demand."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from muster.forecast.traces import journal
from muster.forecast.traces.rows import moved
from muster.forecast.traces.trace import SizeDemand, Trace, TraceElastic, TraceGroup
from muster.journal.record import (
    VERSION,
    GroupRecord,
    JournalRecord,
    PodSetRecord,
    SizeChange,
    WorkloadOutcome,
    write,
)
from tests.unit.forecast.traces.builders import GPU, problems

BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)
CPU = {"cpu": 1_000}
HEAD = PodSetRecord(name="head", count=1, requests={"cpu": "1"})


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def change(seconds: float, granted: int, asked: int, *, limited: bool = False) -> SizeChange:
    return SizeChange(at=at(seconds), granted=granted, asked=asked, limited=limited)


def group(*changes: SizeChange, **more: Any) -> GroupRecord:
    values: dict[str, Any] = {"name": "gpu", "requests": {GPU: "1"}, "minimum": 1, "maximum": 8}
    return GroupRecord(**(values | more), changes=changes)


def read(*groups: GroupRecord, **more: Any) -> Trace:
    """Reads a record of a job that started at second 10."""
    workers = PodSetRecord(name="gpu", count=1, requests={GPU: "1"})
    values: dict[str, Any] = {
        "version": VERSION,
        "uid": "u1",
        "namespace": "team-a",
        "name": "tune",
        "kind": "RayJob",
        "pod_sets": (HEAD, workers),
        "created_at": at(0),
        "admitted_at": at(5),
        "started_at": at(10),
        "finished_at": at(70),
        "outcome": WorkloadOutcome.SUCCEEDED,
        "groups": groups,
    }
    return journal.read([("a.jsonl", [write(JournalRecord(**(values | more))).decode()])], "a.jsonl")


def demand(*changes: SizeChange) -> tuple[SizeDemand, ...]:
    (job,) = read(group(*changes)).jobs
    assert job.elastic is not None
    return job.elastic.groups[0].demand


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param([change(5, 1, 1)], [SizeDemand(0, 1, granted=1)], id="always the same"),
        pytest.param(
            [change(5, 1, 1), change(8, 1, 4), change(20, 4, 4), change(40, 4, 2)],
            [
                SizeDemand(0, 4, granted=1),
                SizeDemand(10_000, 4, granted=4),
                SizeDemand(30_000, 2, granted=4),
            ],
            id="since its start",
        ),
        pytest.param([change(12, 1, 6)], [SizeDemand(0, 6, granted=1)], id="first observed later"),
        pytest.param(
            [change(5, 1, 1), change(20, 1, 1, limited=True)],
            [SizeDemand(0, 1, granted=1), SizeDemand(10_000, 1, True, 1)],
            id="at its limit",
        ),
    ],
)
def test_demand_of_a_group(changes: list[SizeChange], expected: list[SizeDemand]) -> None:
    assert demand(*changes) == tuple(expected)


def test_pods_outside_the_groups_are_alike() -> None:
    (job,) = read(group(change(5, 1, 1), replica=1)).jobs
    asks = (SizeDemand(0, 1, granted=1),)
    assert job.elastic == TraceElastic(1, CPU, (TraceGroup("gpu", {GPU: 1}, 1, 8, 1, asks),))
    assert moved(job, 60_000).elastic == job.elastic
    assert (job.pods, job.requests) == (1, {GPU: 1, "cpu": 1_000}), "at its minimum"


@pytest.mark.parametrize(
    ("groups", "more"),
    [
        pytest.param((), {}, id="a fixed size"),
        pytest.param((group(),), {}, id="no size was recorded"),
        pytest.param((group(change(5, 1, 1)),), {"admitted_at": None, "started_at": None}, id="never began"),
    ],
)
def test_jobs_without_a_recorded_size_have_a_fixed_one(
    groups: tuple[GroupRecord, ...], more: dict[str, Any]
) -> None:
    (job,) = read(*groups, **more).jobs
    assert job.elastic is None


EXPECTED = "expected a minimum of whole replicas, at most the maximum"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"minimum": 9}, f"group 'gpu' has minimum 9, maximum 8 and replicas of 1: {EXPECTED}"),
        (
            {"minimum": 3, "replica": 2},
            f"group 'gpu' has minimum 3, maximum 8 and replicas of 2: {EXPECTED}",
        ),
        ({"requests": {GPU: "-1"}}, "nvidia.com/gpu is '-1': expected 0 or more"),
    ],
)
def test_invalid_groups(changed: dict[str, Any], problem: str) -> None:
    assert problems(read(group(change(5, 1, 1), **changed))) == [f"1: {problem}"]
