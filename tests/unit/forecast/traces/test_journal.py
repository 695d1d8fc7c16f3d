"""The controller's journal: its records are written, read back, and read as jobs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster import admission as core
from muster.forecast.estimate_outcome import EstimateOutcome, SimulatedWait
from muster.forecast.traces import journal
from muster.forecast.traces.pod_sets import MERGED
from muster.forecast.traces.trace import Trace, TraceJob
from muster.journal.record import (
    VERSION,
    EstimateRecord,
    Eviction,
    JournalRecord,
    PodSetRecord,
    WorkloadOutcome,
    write,
)
from muster.objects.kueue import TopologyRequest
from tests.unit.forecast.traces.builders import GIB, GPU, QUANTITY, job, problems

L4 = {"cpu": "default", GPU: "l4"}
BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def workers(count: int = 1, **requests: str) -> PodSetRecord:
    return PodSetRecord(name="workers", count=count, requests=requests or {GPU: "1"})


def record(**changes: Any) -> JournalRecord:
    """A record of a workload that was admitted at second 5 and ran until 65."""
    values: dict[str, Any] = {
        "version": VERSION,
        "uid": "u1",
        "namespace": "team-a",
        "name": "train",
        "kind": "RayJob",
        "pod_sets": (workers(),),
        "created_at": at(0),
        "admitted_at": at(5),
        "started_at": at(5),
        "finished_at": at(65),
        "outcome": WorkloadOutcome.SUCCEEDED,
    }
    return JournalRecord(**(values | changes))


def read(*records: JournalRecord) -> Trace:
    return journal.read([("a.jsonl", [write(each).decode() for each in records])], "a.jsonl")


def trained(run: float | None = 60, **changes: Any) -> TraceJob:
    values = {"waited_ms": 5_000, "user": "team-a", "start_up_ms": 0}
    return job("team-a/train", 0, run, **(values | changes))


JOBS: dict[str, tuple[JournalRecord, TraceJob]] = {
    "it succeeded": (record(), trained()),
    "queue, class and user": (
        record(queue="user-queue", priority_class="high", user="ada"),
        trained(queue="user-queue", priority_class="high", user="ada"),
    ),
    "its pods started later than it was admitted": (
        record(started_at=at(15)),
        trained(run=50, start_up_ms=10_000),
    ),
    "its start is not recorded": (record(started_at=None), trained(start_up_ms=None)),
    "its nodes were provisioned": (
        record(
            reserved_at=at(2), pod_sets=(PodSetRecord(name="w", count=1, requests={GPU: "1"}, flavors=L4),)
        ),
        trained(provisioning_ms=3_000, flavor="l4"),
    ),
    "it declared a limit": (record(limit_seconds=600), trained(limit_ms=600_000)),
    "it was deleted while it waited": (
        record(admitted_at=None, started_at=None, finished_at=at(9), outcome=WorkloadOutcome.DELETED),
        trained(run=None, waited_ms=None, cancelled_ms=9_000, start_up_ms=None),
    ),
    "it was deactivated while it ran": (
        record(finished_at=None, outcome=WorkloadOutcome.DEACTIVATED),
        trained(run=None),
    ),
    "it was evicted before": (
        record(admitted_at=at(35), started_at=at(35), evictions=(Eviction(at=at(20), reason="Preempted"),)),
        trained(run=30, waited_ms=35_000),
    ),
    "times of another zone": (
        record(created_at=datetime.fromisoformat("2026-03-01T10:00:00+01:00")),
        trained(),
    ),
    "its pods were placed in a topology": (
        record(
            pod_sets=(
                PodSetRecord(name="head", count=1, requests={"cpu": "1"}),
                PodSetRecord(
                    name="workers",
                    count=1,
                    requests={GPU: "1"},
                    topology=TopologyRequest(required="rack", pod_set_group_name="gang"),
                ),
            )
        ),
        trained(requests={"cpu": 1_000, GPU: 1}, topology=core.TopologyRequest(required="rack")),
    ),
    "its start was estimated": (
        record(estimates=(EstimateRecord(waited=1, p10=2, p50=3.5, p90=9, actual=4),)),
        trained(estimates=(EstimateOutcome(1_000, SimulatedWait(1_000, 2_000, 3_500, 9_000), 4_000, True),)),
    ),
    "several pods": (
        record(pod_sets=(workers(4, cpu="500m", memory="1Gi"),)),
        trained(pods=4, requests={"cpu": 500, "memory": GIB}),
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_record_is_read_as_a_job(name: str) -> None:
    written, expected = JOBS[name]
    trace = read(written)
    merged = {MERGED: 1} if len(written.pod_sets) > 1 else {}
    assert (list(trace.jobs), problems(trace), trace.adjusted) == ([expected], [], merged)


def test_requests_of_a_head_are_spread_over_its_workers() -> None:
    head = PodSetRecord(name="head", count=1, requests={"cpu": "1", "memory": "2Gi"})
    gang = (head, workers(4, cpu="2", **{GPU: "8"}))
    trace = read(record(pod_sets=gang))
    assert list(trace.jobs) == [trained(pods=4, requests={"cpu": 2_250, "memory": GIB // 2, GPU: 8})]
    assert trace.adjusted == {MERGED: 1}


def test_last_record_of_a_workload_counts() -> None:
    trace = read(record(), record(uid="u2", name="other"), record(finished_at=at(100)))
    assert [(each.name, each.run_ms) for each in trace.jobs] == [
        ("team-a/other", 60_000),
        ("team-a/train", 95_000),
    ]
    assert trace.skipped == {"earlier record of the same workload": 1}


def test_estimates_of_an_earlier_record_of_a_workload_count() -> None:
    """A new leader records it again, without the estimates of the former."""
    estimate = EstimateRecord(waited=1, p10=2, p50=3, p90=9, actual=4)
    trace = read(record(uid="u0", created_at=at(-60)), record(estimates=(estimate,)), record())
    simulated = SimulatedWait(1_000, 2_000, 3_000, 9_000)
    assert trace.jobs[1].estimates == (EstimateOutcome(61_000, simulated, 4_000, True),)


def test_records_of_several_files_are_one_trace() -> None:
    files = [(f"{n}.jsonl", [write(record(uid=f"u{n}")).decode()]) for n in range(3)]
    trace = journal.read([*files, ("bad.jsonl", ["{"])], "journals")
    assert (len(trace.jobs), trace.source) == (3, "journals")
    assert [bad.where for bad in trace.bad] == ["bad.jsonl:1"]


def test_trace_begins_with_the_first_workload() -> None:
    assert read(record()).begins_ms == BEGIN.timestamp() * 1000


def changed(**fields: Any) -> str:
    """The line of a record with other JSON values."""
    return msgspec.json.encode(msgspec.to_builtins(record()) | fields).decode()


BAD_LINES = {
    "no JSON": (
        "not json",
        "JSON is malformed: invalid character (byte 4): expected a record of Muster's journal",
    ),
    "a later version": (
        changed(version=2),
        "version 2 of the journal: expected 1; use the Muster that wrote it",
    ),
    "a later version with other fields": (
        '{"version": 3, "id": "u1"}',
        "version 3 of the journal: expected 1; use the Muster that wrote it",
    ),
    "no uid": (
        '{"version": 1}',
        "Object missing required field `uid`: expected a record of Muster's journal",
    ),
    "a time without a zone": (
        changed(createdAt="2026-03-01T09:00:00"),
        "Expected `datetime` with a timezone component - at `$.createdAt`: "
        "expected a record of Muster's journal",
    ),
    "an unknown outcome": (
        changed(outcome="Vanished"),
        "Invalid enum value 'Vanished' - at `$.outcome`: expected a record of Muster's journal",
    ),
    "no pods": (
        changed(podSets=[{"name": "workers", "count": 0, "requests": {}}]),
        "Expected `int` >= 1 - at `$.podSets[0].count`: expected a record of Muster's journal",
    ),
    "no requests": (
        changed(podSets=[{"name": "workers", "count": 1, "requests": {}}]),
        "the workload requests nothing: expected an amount of cpu, memory or nvidia.com/gpu",
    ),
    "a request that is no quantity": (
        changed(podSets=[{"name": "workers", "count": 1, "requests": {"cpu": "two"}}]),
        f"'two' is not a quantity of cpu: expected {QUANTITY}",
    ),
    "a negative request": (
        changed(podSets=[{"name": "workers", "count": 1, "requests": {"cpu": "-2"}}]),
        "cpu is '-2': expected 0 or more",
    ),
    "it finished before it started": (
        changed(finishedAt="2026-03-01T09:00:00Z"),
        "the run time is negative: finishedAt is 5 s before startedAt",
    ),
    "it was admitted before it was created": (
        changed(createdAt="2026-03-01T09:01:00Z"),
        "the wait is negative: admittedAt is 55 s before createdAt",
    ),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_bad_record_is_left_out_and_explained(name: str) -> None:
    text, expected = BAD_LINES[name]
    trace = journal.read([("a.jsonl", [text, "\n", changed(uid="u2")])], "a.jsonl")
    assert problems(trace) == [f"1: {expected}"]
    assert len(trace.jobs) == 1


def test_fields_of_later_writers_are_ignored() -> None:
    assert len(journal.read([("a.jsonl", [changed(cost=5)])], "a.jsonl").jobs) == 1


times = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))
texts = st.text(max_size=20)
records = st.builds(
    record,
    uid=texts,
    namespace=texts,
    name=texts,
    kind=texts,
    queue=texts,
    priority_class=texts,
    user=texts,
    created_at=times,
    admitted_at=st.none() | times,
    started_at=st.none() | times,
    finished_at=st.none() | times,
    outcome=st.sampled_from(WorkloadOutcome),
    evictions=st.lists(st.builds(Eviction, at=times, reason=texts), max_size=3).map(tuple),
    pod_sets=st.lists(
        st.builds(
            PodSetRecord,
            name=texts,
            count=st.integers(1, 2**31 - 1),
            requests=st.dictionaries(texts, texts, max_size=3),
        ),
        min_size=1,
        max_size=3,
    ).map(tuple),
)


@given(records)
def test_any_record_is_one_line_that_is_read_back(written: JournalRecord) -> None:
    line = write(written)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert msgspec.json.decode(line, type=JournalRecord) == written
