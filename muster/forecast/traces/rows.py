"""Collects the rows of a file: jobs, skipped rows, and bad rows."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter

from muster.forecast.traces.trace import BadReason, BadRow, Trace, TraceJob

BAD_KEPT_MAX = 1_000  # a file of the wrong format has as many bad rows as lines
REASONS_MAX = 20
OTHER_REASONS = "other reasons"
VALUE = re.compile(r"'[^']*'|[0-9][0-9.,]*")
"""A value in a problem: rows with different values can have the same reason."""

ROUNDED = "requests are rounded up to whole units per pod"


class RowError(ValueError):
    """A row that is not a valid job. The message names the problem and the expected value."""


class Rows:
    """Collects the rows of a file. Until `trace` is called, job times are relative to an arbitrary origin."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.jobs: list[TraceJob] = []
        self.skipped: Counter[str] = Counter()
        self.adjusted: Counter[str] = Counter()
        self._bad: list[BadRow] = []
        self._bad_count = 0
        self._reasons: dict[str, BadReason] = {}

    def reject(self, line: int, problem: object, source: str = "") -> None:
        """Counts a bad row, and stores its place and problem for the first BAD_KEPT_MAX rows."""
        self._bad_count += 1
        row = BadRow(f"{source or self.source}:{line}", str(problem))
        if len(self._bad) < BAD_KEPT_MAX:
            self._bad.append(row)
        reason = VALUE.sub("…", row.problem)
        if reason not in self._reasons and len(self._reasons) >= REASONS_MAX:
            reason = OTHER_REASONS
        before = self._reasons.get(reason)
        self._reasons[reason] = BadReason(before.first, before.count + 1) if before else BadReason(row, 1)

    def trace(self, epoch_ms: int | None = None, header: Mapping[str, str] | None = None) -> Trace:
        """Returns the trace, which starts with the first submission; `epoch_ms` is the Unix time of the
        origin of the jobs' times."""
        jobs = self.jobs
        submit = attrgetter("submit_ms")
        jobs.sort(key=submit)
        begin = jobs[0].submit_ms if jobs else 0
        if begin:
            for index, job in enumerate(jobs):
                jobs[index] = moved(job, -begin)
        return Trace(
            source=self.source,
            jobs=jobs,
            bad=tuple(self._bad),
            bad_count=self._bad_count,
            bad_reasons=dict(self._reasons),
            skipped=dict(self.skipped),
            adjusted=dict(self.adjusted),
            begins_ms=None if epoch_ms is None else epoch_ms + begin,
            header=dict(header or {}),
        )


def moved(job: TraceJob, by_ms: int) -> TraceJob:
    """Returns the job, submitted `by_ms` later. dataclasses.replace takes four times as long."""
    return TraceJob(
        job.name,
        job.submit_ms + by_ms,
        job.run_ms,
        job.pods,
        job.requests,
        job.queue,
        job.priority_class,
        job.user,
        job.waited_ms,
        job.limit_ms,
        job.cancelled_ms,
        job.provisioning_ms,
        job.start_up_ms,
        job.flavor,
        job.elastic,
        job.topology,
        tuple(replace(estimate, at_ms=estimate.at_ms + by_ms) for estimate in job.estimates),
    )
