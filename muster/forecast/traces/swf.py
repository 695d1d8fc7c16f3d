"""Reads the Standard Workload Format of the Parallel Workloads Archive: 18 fields per line, comments with
`;`.

Source of the fields: Feitelson, "The Standard Workload Format", version 2.2. Times are in seconds; -1 is used
for an unknown value.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from sys import intern
from typing import Literal

from muster.forecast.traces.rows import ROUNDED, RowError, Rows
from muster.forecast.traces.trace import Trace, TraceError, TraceJob
from muster.forecast.traces.values import SECOND, count, millis, not_negative, of_each_pod

FIELDS = 18
UNKNOWN = "-1"
BRIEF_MS = SECOND // 2  # a run time of 0 means less than half a second
HEADER_MAX = 1_000  # number of header comments to store

# Indices of fields from 0; the specification counts from 1.
JOB, SUBMIT, WAIT, RUN, ALLOCATED = range(5)
REQUESTED, LIMIT = 7, 8
STATUS, USER, GROUP = 10, 11, 12
QUEUE, PARTITION = 14, 15

PARTIAL = frozenset(("2", "3", "4"))
"""Status of a line for one part of a job that was swapped out; another line summarizes the job."""
CANCELLED = "5"

QueueField = Literal["queue", "partition", "group"]
_QUEUE_FIELDS: dict[QueueField, int] = {"queue": QUEUE, "partition": PARTITION, "group": GROUP}


@dataclass(frozen=True, slots=True)
class SwfOptions:
    """Options for the conversion of processors to pods, and the field with the queue's name."""

    resource: str = "nvidia.com/gpu"  # that one processor becomes
    processors_per_pod: int = 8  # maximum
    queue: QueueField = "queue"

    def __post_init__(self) -> None:
        if self.processors_per_pod < 1:
            raise TraceError(f"processors per pod: {self.processors_per_pod}; expected 1 or more")


def read(lines: Iterable[str], source: str, options: SwfOptions | None = None) -> Trace:
    """Returns the jobs of a log. Lines for parts of jobs are skipped."""
    options = options or SwfOptions()
    rows = Rows(source)
    header: dict[str, str] = {}
    pods_of = _pods_of(options)
    queue_field = _QUEUE_FIELDS[options.queue]
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields:
            continue
        if fields[0].startswith(";"):
            _comment(line, header)
            continue
        if len(fields) == FIELDS and fields[STATUS] in PARTIAL:
            rows.skipped["part of a job, summarized by another line"] += 1
            continue
        try:
            pods, requests, rounded = pods_of(*_processors(fields))
            rows.jobs.append(_job(fields, queue_field, pods, requests))
        except RowError as problem:
            rows.reject(number, problem)
        else:
            if rounded:
                rows.adjusted[ROUNDED] += 1
    return rows.trace(_epoch_ms(header), header)


def _job(fields: list[str], queue_field: int, pods: int, requests: Mapping[str, int]) -> TraceJob:
    wait, limit = fields[WAIT], fields[LIMIT]
    waited_ms = None if wait == UNKNOWN else _duration("wait time (field 3)", wait)
    is_cancelled = _never_ran(fields)
    if is_cancelled and waited_ms is None:
        raise RowError("wait time (field 3) is unknown: expected the time until the job was cancelled")
    return TraceJob(
        fields[JOB],
        not_negative("submit time (field 2)", millis("submit time (field 2)", fields[SUBMIT])),
        _run_ms(fields),
        pods,
        requests,
        queue=_text(fields[queue_field]),
        user=_text(fields[USER]),
        waited_ms=None if is_cancelled else waited_ms,
        limit_ms=None if limit == UNKNOWN else _duration("requested time (field 9)", limit),
        cancelled_ms=waited_ms if is_cancelled else None,
    )


def _never_ran(fields: list[str]) -> bool:
    """Returns whether a job was cancelled before it started: it was allocated nothing."""
    return (
        fields[STATUS] == CANCELLED and fields[ALLOCATED] in (UNKNOWN, "0") and fields[RUN] in (UNKNOWN, "0")
    )


def _run_ms(fields: list[str]) -> int | None:
    text = fields[RUN]
    if text == UNKNOWN or _never_ran(fields):
        return None
    return _duration("run time (field 4)", text) or BRIEF_MS


def _duration(name: str, text: str) -> int:
    return not_negative(name, millis(name, text))


def _processors(fields: list[str]) -> tuple[str, str]:
    """Returns the requested and the allocated number of processors."""
    if len(fields) != FIELDS:
        raise RowError(f"{len(fields)} fields: expected the {FIELDS} of the Standard Workload Format")
    return fields[REQUESTED], fields[ALLOCATED]


def _pods_of(options: SwfOptions) -> Callable[[str, str], tuple[int, Mapping[str, int], bool]]:
    """Returns a function from a job's processors (requested, allocated) to its pods, the requests of each,
    and whether they were rounded up. It is cached, so that jobs share their requests: few numbers of
    processors occur."""

    @lru_cache(maxsize=10_000)
    def pods_of(requested: str, allocated: str) -> tuple[int, Mapping[str, int], bool]:
        name, text = ("requested processors (field 8)", requested)
        if text in (UNKNOWN, "0"):
            name, text = ("allocated processors (field 5)", allocated)
        if text in (UNKNOWN, "0"):
            raise RowError("no processors: expected 1 or more in field 8 (requested) or 5 (allocated)")
        processors = count(name, text)
        pods = math.ceil(processors / options.processors_per_pod)
        units, rounded = of_each_pod(options.resource, Fraction(processors), pods)
        return pods, {options.resource: units}, rounded

    return pods_of


def _text(text: str) -> str:
    """Returns the text of a field; empty if it is unknown."""
    return "" if text == UNKNOWN else intern(text)


def _comment(line: str, header: dict[str, str]) -> None:
    """Stores a header comment such as `; MaxProcs: 128`."""
    name, colon, value = line.strip().lstrip(";").partition(":")
    if colon and value.strip() and len(header) < HEADER_MAX:
        header.setdefault(name.strip(), value.strip())


def _epoch_ms(header: Mapping[str, str]) -> int | None:
    """Returns the Unix time of the log's origin; None if the header does not define it."""
    text = header.get("UnixStartTime", "")
    try:
        return millis("UnixStartTime", text) or None
    except RowError:
        return None
