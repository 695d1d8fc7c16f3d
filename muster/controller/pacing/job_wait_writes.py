"""Selects the annotations of waiting jobs to write: decisions and admissions take precedence."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from muster.admission import Timers
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import Job
from muster.controller.gangs.planned_write import PlannedWrite, round_robin
from muster.controller.pacing.rates import TokenBucket
from muster.controller.passes.job_waits import JobWait, annotate, annotated_wait, wait_of
from muster.objects.names import WAIT_ANNOTATION

CALM_MS = 3000
"""The time for which a reason must last: a job that is admitted earlier costs no write."""
INTERVAL_MS = 1000
BURST, PER_S = 20, 5  # each costs the API server as much as an admission, and its event as much again
BEHIND = re.compile(r"waits behind (\S+),")
REFRESH_MS = 60_000  # the minimum between two writes of a job with the same reason
REFRESHED_MAX = 100  # jobs per interval whose position and numbers are compared with their annotations
RETRY_MS = 60_000  # after a refused write

QueueOrder = Callable[[str], Sequence[str]]
"""Returns the keys of the workloads pending in a ClusterQueue, in the order in which they are tried."""


@dataclass(slots=True)
class _Annotated:
    """The last annotation of a job."""

    uid: str  # of the job
    reason: str
    sentence: str = ""  # empty if unknown, as after a restart
    at_ms: int = 0
    head: str = ""  # the workload that it waits behind, if any


@dataclass(frozen=True, slots=True)
class JobWaitWrite:
    """The write of a job's annotation."""

    key: str  # of the Workload
    uid: str  # of the job
    wait: JobWait | None  # None removes the annotation
    planned: PlannedWrite


class JobWaitWrites:
    """Remembers the annotation of each job; all keys are keys of Workloads. Namespaces are served
    round-robin.

    A new leader reads the annotations. Later they are not read again, so that a user that edits them causes
    no writes."""

    def __init__(self) -> None:
        self._bucket = TokenBucket(BURST, PER_S)
        self._annotated: dict[str, _Annotated] = {}
        self._waiting: dict[str, None] = {}  # annotated with a reason, the oldest first
        self._calm = Timers()  # until a new reason has lasted, or a refused write is retried
        self._due: dict[str, None] = {}  # with a new reason that has lasted, the oldest first
        self._next_ms = 0

    def compare(self, cluster: ClusterState, keys: Iterable[str], at_ms: int) -> None:
        """Compares the reasons of these Workloads with the annotations of their jobs."""
        for key in keys:
            job = _job(key, cluster)
            if job is None:
                self._forget(key)
                continue
            annotated = self._annotated.get(key)
            if annotated is None or annotated.uid != job.metadata.uid:
                self._forget(key)
                written = annotated_wait(job)
                head = _head_of(written.message)
                annotated = self._remember(key, _Annotated(job.metadata.uid, written.reason, head=head))
            wait = wait_of(cluster.workloads[key], job, cluster)
            if wait is None and WAIT_ANNOTATION not in job.metadata.annotations:
                annotated = self._remember(key, _Annotated(annotated.uid, ""))  # removed by its start
            reason, head = (wait.reason, _head_of(wait.message)) if wait else ("", "")
            is_same = (reason, head) == (annotated.reason, annotated.head)
            if is_same or (wait is None and job.suspended):
                self._settle(key)
            elif key not in self._due and key not in self._calm:
                self._calm.set(key, at_ms + CALM_MS)

    def due_ms(self) -> int | None:
        """Returns when annotations with a new reason are due; None if there are none."""
        if self._due:
            return self._next_ms
        next_ms = self._calm.next_ms
        return None if next_ms is None else max(self._next_ms, next_ms)

    def choose(
        self, cluster: ClusterState, order: QueueOrder, busy: Collection[str], now_ms: int, at_ms: int
    ) -> list[JobWaitWrite]:
        """Returns the annotations to write now. `busy` are Workloads for which the pass has more important
        writes."""
        if at_ms < self._next_ms:
            return []
        self._next_ms = at_ms + INTERVAL_MS
        waits = _PositionedWaits(cluster, order)
        available = self._bucket.available(at_ms)
        self._due.update(dict.fromkeys(self._calm.take_due(at_ms)))
        due = (key for key in self._due if key not in busy)
        chosen = [
            self._write(key, waits, now_ms, with_event=self._has_new_reason(key, waits))
            for key in round_robin(due, _namespace, available)
        ]
        for write in chosen:
            del self._due[write.key]
            self._calm.set(write.key, at_ms + RETRY_MS)
        for key in list(islice(self._waiting, REFRESHED_MAX)):
            annotated = self._annotated[key]
            if len(chosen) == available or annotated.at_ms + REFRESH_MS > at_ms:
                break
            self._remember(key, replace(annotated, at_ms=at_ms))
            wait = waits.of(key)
            if wait is not None and wait.reason == annotated.reason and wait.sentence != annotated.sentence:
                chosen.append(self._write(key, waits, now_ms, with_event=False))
        self._bucket.take(len(chosen), at_ms)
        return chosen

    def written(self, write: JobWaitWrite, at_ms: int) -> None:
        """Records that the annotation has been written."""
        annotated, wait = _Annotated(write.uid, ""), write.wait
        if wait is not None:
            annotated = _Annotated(write.uid, wait.reason, wait.sentence, at_ms, _head_of(wait.message))
        self._settle(write.key)
        self._remember(write.key, annotated)

    def _has_new_reason(self, key: str, waits: "_PositionedWaits") -> bool:
        wait = waits.of(key)
        return wait is not None and wait.reason != self._annotated[key].reason

    def _write(self, key: str, waits: "_PositionedWaits", now_ms: int, *, with_event: bool) -> JobWaitWrite:
        job, wait = waits.job(key), waits.of(key)
        return JobWaitWrite(key, job.metadata.uid, wait, annotate(job, wait, now_ms, with_event=with_event))

    def _remember(self, key: str, annotated: _Annotated) -> _Annotated:
        self._annotated[key] = annotated
        self._waiting.pop(key, None)
        if annotated.reason:
            self._waiting[key] = None
        return annotated

    def _forget(self, key: str) -> None:
        self._annotated.pop(key, None)
        self._waiting.pop(key, None)
        self._settle(key)

    def _settle(self, key: str) -> None:
        """Cancels the pending write of the annotation."""
        self._due.pop(key, None)
        self._calm.set(key, None)


class _PositionedWaits:
    """The waits of jobs with their positions, which are computed once per queue."""

    def __init__(self, cluster: ClusterState, order: QueueOrder) -> None:
        self._cluster, self._order = cluster, order
        self._positions: dict[str, dict[str, int]] = {}  # by ClusterQueue

    def job(self, key: str) -> Job:
        job = self._cluster.job_of(self._cluster.workloads[key])
        assert job is not None, "Workloads without a job were forgotten"
        return job

    def of(self, key: str) -> JobWait | None:
        wait = wait_of(self._cluster.workloads[key], self.job(key), self._cluster)
        if wait is None:
            return None
        if wait.queue not in self._positions:
            self._positions[wait.queue] = {other: n for n, other in enumerate(self._order(wait.queue), 1)}
        return replace(wait, position=self._positions[wait.queue].get(key))


def _head_of(message: str) -> str:
    """Returns the workload that a job waits behind. Once that has started, the annotation is untrue."""
    match = BEHIND.search(message)
    return match.group(1) if match is not None else ""


def _job(key: str, cluster: ClusterState) -> Job | None:
    """Returns the job of the Workload if it is in a queue."""
    workload = cluster.workloads.get(key)
    job = cluster.job_of(workload) if workload is not None else None
    return job if job is not None and job.managed and not job.metadata.deletion_timestamp else None


def _namespace(key: str) -> str:
    return key.partition("/")[0]
