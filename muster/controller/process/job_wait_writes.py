"""Which annotations of waiting jobs are written, and when: decisions and admissions come first."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from muster.admission import Timers
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import Job
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.passes.job_waits import JobWait, annotate, annotated_reason, wait_of
from muster.controller.passes.round_robin import round_robin
from muster.controller.process.token_bucket import TokenBucket
from muster.objects.names import WAIT_ANNOTATION

CALM_MS = 3000
"""How long a reason has to last: a job that is admitted before that costs no write."""
INTERVAL_MS = 1000
BURST, PER_S = 20, 5  # each costs the API server as much as an admission, and its event as much again
REFRESH_MS = 60_000  # at least, between two writes of one job with the same reason
REFRESHED_MAX = 100  # jobs whose position and numbers are compared with those written, an interval
RETRY_MS = 60_000  # after a refused write

QueueOrder = Callable[[str], Sequence[str]]
"""The keys of the workloads that wait in a ClusterQueue, the next one first."""


@dataclass(slots=True)
class _Told:
    """The annotation of the job with this UID; its `sentence` is empty if it is not known."""

    uid: str
    reason: str
    sentence: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class JobWaitWrite:
    """The annotation of one job; `key` is its Workload's."""

    key: str
    uid: str
    wait: JobWait | None
    planned: PlannedWrite


class JobWaitWrites:
    """Remembers what each job was told. A new leader reads it from the annotations; after that they are not
    read, so that a user that edits them causes no writes. Namespaces take turns."""

    def __init__(self) -> None:
        self._bucket = TokenBucket(BURST, PER_S)
        self._told: dict[str, _Told] = {}  # by key of the Workload, as all keys here
        self._waiting: dict[str, None] = {}  # those that were told a reason, the oldest first
        self._calm = Timers()  # until another reason than told has lasted, or a refused write is tried again
        self._due: dict[str, None] = {}  # those with a reason that has lasted, the oldest first
        self._next_ms = 0

    def take(self, cluster: ClusterState, keys: Iterable[str], at_ms: int) -> None:
        """Compares the reasons of these Workloads with what their jobs were told."""
        for key in keys:
            job = _job(key, cluster)
            if job is None:
                self._forget(key)
                continue
            told = self._told.get(key)
            if told is None or told.uid != job.metadata.uid:
                self._forget(key)
                told = self._tell(key, _Told(job.metadata.uid, annotated_reason(job)))
            wait = wait_of(cluster.workloads[key], job, cluster)
            if wait is None and WAIT_ANNOTATION not in job.metadata.annotations:
                told = self._tell(key, _Told(told.uid, ""))  # its start has removed it
            if (wait.reason if wait else "") == told.reason or (wait is None and job.suspended):
                self._settle(key)
            elif key not in self._due and key not in self._calm:
                self._calm.set(key, at_ms + CALM_MS)

    def due_ms(self) -> int | None:
        """Returns when annotations with another reason are due, if there are any."""
        if self._due:
            return self._next_ms
        next_ms = self._calm.next_ms
        return None if next_ms is None else max(self._next_ms, next_ms)

    def choose(
        self, cluster: ClusterState, order: QueueOrder, busy: Collection[str], now_ms: int, at_ms: int
    ) -> list[JobWaitWrite]:
        """Returns the annotations to write now. `busy` are Workloads that the pass writes for a more
        important reason."""
        if at_ms < self._next_ms:
            return []
        self._next_ms = at_ms + INTERVAL_MS
        waits = _PositionedWaits(cluster, order)
        left = self._bucket.available(at_ms)
        self._due.update(dict.fromkeys(self._calm.take_due(at_ms)))
        due = (key for key in self._due if key not in busy)
        chosen = [
            self._write(key, waits, now_ms, with_event=True) for key in round_robin(due, _namespace, left)
        ]
        for one in chosen:
            del self._due[one.key]
            self._calm.set(one.key, at_ms + RETRY_MS)
        for key in list(islice(self._waiting, REFRESHED_MAX)):
            told = self._told[key]
            if len(chosen) == left or told.at_ms + REFRESH_MS > at_ms:
                break
            self._tell(key, replace(told, at_ms=at_ms))
            wait = waits.of(key)
            if wait is not None and wait.reason == told.reason and wait.sentence != told.sentence:
                chosen.append(self._write(key, waits, now_ms, with_event=False))
        self._bucket.take(len(chosen), at_ms)
        return chosen

    def written(self, one: JobWaitWrite, at_ms: int) -> None:
        """Notes that the annotation has been written."""
        reason, sentence = (one.wait.reason, one.wait.sentence) if one.wait else ("", "")
        self._settle(one.key)
        self._tell(one.key, _Told(one.uid, reason, sentence, at_ms))

    def _write(self, key: str, waits: "_PositionedWaits", now_ms: int, *, with_event: bool) -> JobWaitWrite:
        job, wait = waits.job(key), waits.of(key)
        return JobWaitWrite(key, job.metadata.uid, wait, annotate(job, wait, now_ms, with_event=with_event))

    def _tell(self, key: str, told: _Told) -> _Told:
        self._told[key] = told
        self._waiting.pop(key, None)
        if told.reason:
            self._waiting[key] = None
        return told

    def _forget(self, key: str) -> None:
        self._told.pop(key, None)
        self._waiting.pop(key, None)
        self._settle(key)

    def _settle(self, key: str) -> None:
        """Forgets that it has another reason than told."""
        self._due.pop(key, None)
        self._calm.set(key, None)


class _PositionedWaits:
    """Why jobs wait, with their positions, which are computed once a queue."""

    def __init__(self, cluster: ClusterState, order: QueueOrder) -> None:
        self._cluster, self._order = cluster, order
        self._positions: dict[str, dict[str, int]] = {}  # by ClusterQueue

    def job(self, key: str) -> Job:
        found = self._cluster.job_of(self._cluster.workloads[key])
        assert found is not None, "Workloads without a job were forgotten"
        return found

    def of(self, key: str) -> JobWait | None:
        wait = wait_of(self._cluster.workloads[key], self.job(key), self._cluster)
        if wait is None:
            return None
        if wait.queue not in self._positions:
            self._positions[wait.queue] = {other: n for n, other in enumerate(self._order(wait.queue), 1)}
        return replace(wait, position=self._positions[wait.queue].get(key))


def _job(key: str, cluster: ClusterState) -> Job | None:
    """Returns the job of the Workload if it is in a queue."""
    workload = cluster.workloads.get(key)
    job = cluster.job_of(workload) if workload is not None else None
    return job if job is not None and job.managed and not job.metadata.deletion_timestamp else None


def _namespace(key: str) -> str:
    return key.partition("/")[0]
