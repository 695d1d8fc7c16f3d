"""Reads the controller's journal of workloads as a trace."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from sys import intern
from typing import NamedTuple

import msgspec

from muster.admission import TopologyRequest
from muster.forecast.estimate_outcome import EstimateOutcome, SimulatedWait
from muster.forecast.main_flavor import main_flavor
from muster.forecast.traces.journal_sizes import elastic_of, units
from muster.forecast.traces.pod_sets import MERGED, main_pod_set, merged
from muster.forecast.traces.rows import RowError, Rows
from muster.forecast.traces.trace import Trace, TraceJob
from muster.forecast.traces.values import SECOND, duration
from muster.journal.record import VERSION, EstimateRecord, JournalRecord
from muster.objects import kueue
from muster.translation.core_nodes import topology_request


class _Versioned(msgspec.Struct):
    """The field that all versions of a record have."""

    version: int


_DECODER = msgspec.json.Decoder(JournalRecord)


def read(files: Iterable[tuple[str, Iterable[str]]], source: str) -> Trace:
    """Returns the workloads of one or more files (name and lines), in the order in which the controller wrote
    them."""
    rows = Rows(source)
    jobs: dict[str, TraceJob] = {}
    merged: set[str] = set()
    gang_of = lru_cache(maxsize=50_000)(_gang)
    for file, lines in files:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = _decoded(line)
                job = _job(record, gang_of(_pod_sets_key(record)))
            except RowError as problem:
                rows.reject(number, problem, file)
                continue
            earlier = jobs.pop(record.uid, None)
            if earlier is not None:
                rows.skipped["earlier record of the same workload"] += 1
                if not job.estimates:  # a new leader does not have them
                    job = replace(job, estimates=earlier.estimates)
            jobs[record.uid] = job
            if len(record.pod_sets) > 1:
                merged.add(record.uid)
    if merged:
        rows.adjusted[MERGED] = len(merged)
    rows.jobs.extend(jobs.values())
    return rows.trace(epoch_ms=0)


def _decoded(line: str) -> JournalRecord:
    """Returns the record. Raises: RowError; a wrong version is reported before other problems."""
    try:
        record = _DECODER.decode(line)
        version = record.version
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as problem:
        version = _version(line)
        if version == VERSION:
            raise RowError(f"{problem}: expected a record of Muster's journal") from None
    if version != VERSION:
        raise RowError(f"version {version} of the journal: expected {VERSION}; use the Muster that wrote it")
    return record


def _version(line: str) -> int:
    try:
        return msgspec.json.decode(line, type=_Versioned).version
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return VERSION


class _Gang(NamedTuple):
    """The pods of a workload as equal pods."""

    pods: int
    requests: Mapping[str, int]  # of one pod
    topology: TopologyRequest | None


def _job(record: JournalRecord, gang: _Gang) -> TraceJob:
    created_ms = _millis(record.created_at)
    begun = record.started_at or record.admitted_at
    waited_ms = run_ms = cancelled_ms = None
    if record.admitted_at is not None:
        waited_ms = duration("the wait", created_ms, _millis(record.admitted_at), "createdAt", "admittedAt")
    if begun is not None and record.finished_at is not None:
        run_ms = duration(
            "the run time", _millis(begun), _millis(record.finished_at), "startedAt", "finishedAt"
        )
    if begun is None and record.finished_at is not None and not record.evictions:
        finished_ms = _millis(record.finished_at)
        cancelled_ms = duration("the time in the queue", created_ms, finished_ms, "createdAt", "finishedAt")
    provisioning_ms = start_up_ms = None
    if record.reserved_at is not None and record.admitted_at is not None:
        provisioning_ms = _measured_ms(record.reserved_at, record.admitted_at)
    if record.admitted_at is not None and record.started_at is not None:
        start_up_ms = _measured_ms(record.admitted_at, record.started_at)
    return TraceJob(
        f"{record.namespace}/{record.name}",
        created_ms,
        run_ms,
        gang.pods,
        gang.requests,
        intern(record.queue),
        intern(record.priority_class),
        intern(record.user or record.namespace),
        waited_ms,
        None if record.limit_seconds is None else record.limit_seconds * SECOND,
        cancelled_ms,
        provisioning_ms,
        start_up_ms,
        intern(main_flavor(pod_set.flavors for pod_set in record.pod_sets)),
        None if begun is None else elastic_of(record, begun),
        gang.topology,
        tuple(_estimate(created_ms, estimate) for estimate in record.estimates),
    )


def _estimate(created_ms: int, record: EstimateRecord) -> EstimateOutcome:
    age_ms, low_ms, median_ms, high_ms, wait_ms = (
        round(SECOND * seconds)
        for seconds in (record.waited, record.p10, record.p50, record.p90, record.actual)
    )
    simulated = SimulatedWait(age_ms, low_ms, median_ms, high_ms)
    return EstimateOutcome(created_ms + age_ms, simulated, wait_ms, has_started=True)


def _measured_ms(begin: datetime, end: datetime) -> int:
    return max(0, _millis(end) - _millis(begin))


PodSetsKey = tuple[tuple[int, tuple[tuple[str, str], ...], kueue.TopologyRequest | None], ...]


def _pod_sets_key(record: JournalRecord) -> PodSetsKey:
    return tuple((of.count, tuple(of.requests.items()), of.topology) for of in record.pod_sets)


def _gang(pod_sets: PodSetsKey) -> _Gang:
    """Returns the merged pod sets (`pod_sets.merged`), with the topology request of those with the most
    accelerators: there is no other pod set to be placed with."""
    merging = [
        (count, {resource: units(resource, text) for resource, text in requests})
        for count, requests, _topology in pod_sets
    ]
    pods, shares = merged(merging)
    if not shares:
        raise RowError("the workload requests nothing: expected an amount of cpu, memory or nvidia.com/gpu")
    topology = topology_request(pod_sets[main_pod_set(merging)][2])
    return _Gang(pods, shares, None if topology is None else replace(topology, group=None))


def _millis(time: datetime) -> int:
    return round(time.timestamp() * SECOND)
