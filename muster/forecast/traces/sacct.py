"""Reads Slurm's accounting: output of `sacct --parsable2 --allusers --duplicates --format=…`, with its
header.

Required columns: JobID, Submit, Start, End and ReqTRES (or AllocTRES, or AllocGRES of older versions).
Optional: Eligible, State, Timelimit, NNodes, Partition, QOS, User, Account. `--duplicates` lists every
attempt of a requeued job; without it, only the last attempt and its submission are listed. Source: sacct(1)
of Slurm 23.11.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from sys import intern
from typing import Literal

from muster.forecast.traces.pod_sets import MERGED, merged
from muster.forecast.traces.rows import ROUNDED, RowError, Rows
from muster.forecast.traces.trace import Trace, TraceError, TraceJob
from muster.forecast.traces.tres import GPU, parse_gres, parse_tres, tasks, time_limit_ms
from muster.forecast.traces.values import ABSENT, count, duration, millis, of_each_pod, shown, unix_ms

_NO_COLUMN = -1  # index of the empty field that is appended to every line
NEEDED = ("JobID", "Submit", "Start", "End")
REQUESTS = ("ReqTRES", "AllocTRES", "AllocGRES")
INTERRUPTED = frozenset(("REQUEUED", "PREEMPTED", "NODE_FAIL"))
"""States of an attempt that may be followed by another attempt of the same job."""
COLUMNS = (
    *NEEDED,
    *REQUESTS,
    "Eligible",
    "State",
    "Timelimit",
    "NNodes",
    "Partition",
    "QOS",
    "User",
    "Account",
)
FORMAT = "JobID,Submit,Eligible,Start,End,State,Timelimit,ReqTRES,NNodes,Partition,QOS,User,Account"
HETEROGENEOUS = "+"
"""Separates the id of a heterogeneous job from the number of a component: 1007+0."""
CANCELLED = "CANCELLED"  # if such a job never ran, older versions report its end as its start

QueueColumn = Literal["Partition", "Account", "QOS"]


@dataclass(frozen=True, slots=True)
class SacctOptions:
    """The column that names the queue of a job."""

    queue: QueueColumn = "Partition"


def read(lines: Iterable[str], source: str, options: SacctOptions | None = None) -> Trace:
    """Returns the jobs of an accounting log. A job's share of a node becomes a pod. Steps are skipped."""
    split = ((number, line.rstrip("\r\n").split("|")) for number, line in enumerate(lines, 1))
    rows = ((number, fields) for number, fields in split if len(fields) > 1 or fields[0].strip())
    _, header = next(rows, (0, None))
    if header is None:
        return Rows(source).trace(epoch_ms=0)
    return read_rows(header, rows, source, options or SacctOptions())


def read_rows(
    header: list[str], numbered: Iterable[tuple[int, list[str]]], source: str, options: SacctOptions
) -> Trace:
    """Returns the jobs of rows with the columns of `header`."""
    rows = Rows(source)
    reader = _Reader(header, rows, options)
    for number, fields in numbered:
        try:
            reader.read(fields)
        except RowError as problem:
            rows.reject(number, problem)
    reader.finish()
    return rows.trace(epoch_ms=0)


class _Reader:
    """Reads the lines of one file, whose header determines the columns."""

    def __init__(self, header: list[str], rows: Rows, options: SacctOptions) -> None:
        self._rows = rows
        self._width = len(header)
        index_of = {name.strip().lower(): index for index, name in enumerate(header)}
        self._at = {column: index_of.get(column.lower(), _NO_COLUMN) for column in COLUMNS}
        missing = [name for name in NEEDED if self._at[name] == _NO_COLUMN]
        if missing or all(self._at[name] == _NO_COLUMN for name in REQUESTS):
            raise TraceError(
                f"{rows.source}: sacct's output lacks {', '.join(missing) or 'ReqTRES'}; "
                f"run sacct --parsable2 --allusers --duplicates --format={FORMAT}"
            )
        self._queue = options.queue
        self._requests_of = _requests_of()
        self._interrupted: dict[str, TraceJob] = {}

    def read(self, fields: list[str]) -> None:
        """Adds the jobs of the line. Raises: RowError for a bad line."""
        if len(fields) != self._width:
            raise RowError(f"{len(fields)} columns: expected {self._width}, as in the header")
        fields.append("")
        job_id = self._text("JobID", fields)
        if "." in job_id and "[" not in job_id:
            self._rows.skipped["step of a job"] += 1
            return
        state = self._text("State", fields).partition(" ")[0]
        for name in tasks(job_id):
            job = self._job(name, fields)
            if job is None:
                self._rows.skipped["never became eligible"] += 1
            elif state in INTERRUPTED:
                self._interrupt(job)
            else:
                self._rows.jobs.append(self._after_interruptions(job))

    def finish(self) -> None:
        """Adds jobs whose last attempt was interrupted, and merges the components of heterogeneous jobs."""
        self._rows.jobs.extend(self._interrupted.values())
        self._interrupted.clear()
        components: dict[str, list[TraceJob]] = {}
        for job in self._rows.jobs:
            components.setdefault(job.name.partition(HETEROGENEOUS)[0], []).append(job)
        merged_jobs = [_merged(name, jobs) for name, jobs in components.items() if _is_heterogeneous(jobs)]
        if merged_jobs:
            others = (jobs for jobs in components.values() if not _is_heterogeneous(jobs))
            self._rows.jobs[:] = [*(job for jobs in others for job in jobs), *merged_jobs]
            self._rows.adjusted[MERGED] += len(merged_jobs)

    def _interrupt(self, job: TraceJob) -> None:
        self._interrupted[job.name] = self._after_interruptions(job)

    def _after_interruptions(self, job: TraceJob) -> TraceJob:
        """Returns the job with the submission and wait of its first attempt and the run time of this one; if
        it was cancelled before this one started, of the attempt before."""
        first = self._interrupted.pop(job.name, None)
        if first is None:
            return job
        self._rows.skipped["earlier attempt of a requeued job"] += 1
        if job.cancelled_ms is not None:
            return first
        return replace(job, submit_ms=min(first.submit_ms, job.submit_ms), waited_ms=first.waited_ms)

    def _job(self, name: str, fields: list[str]) -> TraceJob | None:
        """Returns the job, submitted when it became eligible, as Slurm holds it back for dependencies and
        begin times before. None if it never became eligible."""
        submit = self._text("Submit", fields)
        submit_ms = _time_ms("Submit", submit)
        start, end = self._text("Start", fields), self._text("End", fields)
        if self._at["Eligible"] != _NO_COLUMN:
            eligible = self._text("Eligible", fields)
            if eligible in ABSENT and start in ABSENT:
                return None
            if eligible not in ABSENT and eligible != submit:
                submit_ms = max(submit_ms, _time_ms("Eligible", eligible))
        tres = self._text("ReqTRES", fields) or self._text("AllocTRES", fields)
        nodes, gres = self._text("NNodes", fields), self._text("AllocGRES", fields)
        pods, requests, rounded = self._requests_of(tres, nodes, gres)
        run_ms = waited_ms = cancelled_ms = None
        never_ran = start in ABSENT or (start == end and self._text("State", fields).startswith(CANCELLED))
        if not never_ran:
            start_ms = _time_ms("Start", start)
            waited_ms = duration("the wait", submit_ms, start_ms, "Submit", "Start")
            if end not in ABSENT:
                run_ms = duration("the run time", start_ms, _time_ms("End", end), "Start", "End")
        elif end not in ABSENT:
            cancelled_ms = max(0, _time_ms("End", end) - submit_ms)
        if rounded:
            self._rows.adjusted[ROUNDED] += 1
        return TraceJob(
            name,
            submit_ms,
            run_ms,
            pods,
            requests,
            intern(self._text(self._queue, fields)),
            intern(self._text("QOS", fields)),
            intern(self._text("User", fields) or self._text("Account", fields)),
            waited_ms,
            time_limit_ms(self._text("Timelimit", fields)),
            cancelled_ms,
        )

    def _text(self, column: str, fields: list[str]) -> str:
        return fields[self._at[column]].strip()


def _is_heterogeneous(jobs: Sequence[TraceJob]) -> bool:
    return HETEROGENEOUS in jobs[0].name


def _merged(name: str, components: Sequence[TraceJob]) -> TraceJob:
    """Returns a heterogeneous job, whose components Slurm starts together, as one gang."""
    first = components[0]
    pods, requests = merged([(job.pods, job.requests) for job in components])
    runs = [job.run_ms for job in components if job.run_ms is not None]
    run_ms = max(runs, default=None)
    submit_ms = min(job.submit_ms for job in components)
    return replace(first, name=name, submit_ms=submit_ms, pods=pods, requests=requests, run_ms=run_ms)


def _requests_of() -> Callable[[str, str, str], tuple[int, Mapping[str, int], bool]]:
    """Returns a function from a job's TRES, nodes and GRES to its pods, the requests of each, and whether
    they were rounded up. It is cached, so that jobs with the same texts share their requests."""

    @lru_cache(maxsize=50_000)
    def requests_of(tres: str, node_count: str, gres: str) -> tuple[int, Mapping[str, int], bool]:
        totals, nodes = parse_tres(tres)
        if GPU not in totals and (gpus := parse_gres(gres)):  # a cluster that does not track GPUs as TRES
            totals[GPU] = gpus
        pods = nodes or (count("NNodes", node_count) if node_count not in ("", "0") else 1)
        parts = {name: of_each_pod(name, total, pods) for name, total in totals.items() if total}
        if not parts:
            raise RowError(f"TRES {shown(tres)}: expected cpu, mem or gres/gpu")
        return pods, {name: part[0] for name, part in parts.items()}, any(part[1] for part in parts.values())

    return requests_of


def _time_ms(name: str, text: str) -> int:
    """Returns milliseconds since 1970 of a time, which is in seconds with SLURM_TIME_FORMAT=%s."""
    return millis(name, text) if text.isdecimal() else unix_ms(name, text)
