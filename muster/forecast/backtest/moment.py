"""The state of a past run at one moment, without its later events."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from muster import admission as core
from muster.forecast.backtest.past_run import Attempt, PastRun
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.learning.learned import Learned
from muster.forecast.learning.past_job import PastJob
from muster.forecast.main_flavor import main_flavor
from muster.forecast.observed_state import ObservedWorkload
from muster.forecast.simulation.worker_group import WorkerGroup
from muster.translation.elastic import ElasticPodSet, at_granted_size, grown, split

NAMESPACE = "backtest"


@dataclass(frozen=True, slots=True)
class Moment:
    """A state for estimates of starts."""

    configuration: QueueConfiguration
    workloads: Mapping[str, ObservedWorkload]
    learned: Learned
    now_ms: int


def moment(run: PastRun, configuration: QueueConfiguration, learned: Learned, now_ms: int) -> Moment:
    """Returns the jobs that wait or hold quota at a moment."""
    current = dict(_current(run, now_ms))
    placing = _Placing(configuration, now_ms)
    holding = sorted(
        (attempt.reserved_ms, number) for number, attempt in current.items() if attempt is not None
    )
    admissions = {number: placing.admission(run, number, current[number]) for _, number in holding}
    workloads = {
        key_of(number): _observed(number, run.jobs[number], attempt, admissions.get(number), now_ms)
        for number, attempt in current.items()
        if attempt is None or admissions[number] is not None
    }
    return Moment(configuration, workloads, learned, now_ms)


def jobs_until(run: PastRun, now_ms: int) -> list[PastJob]:
    """Returns the record of the run at a moment: without the run times of jobs that have not ended, the waits
    of jobs that have not started, and later cancellations."""
    return [_until(of_job, run.attempts.get(n, ()), now_ms) for n, of_job in _submitted(run, now_ms)]


def key_of(number: int) -> str:
    """Returns the key of a job's workload."""
    return f"{NAMESPACE}/{number}"


def _submitted(run: PastRun, now_ms: int) -> Iterator[tuple[int, PastJob]]:
    for number, of_job in enumerate(run.jobs):
        if of_job.job.submit_ms > now_ms:
            return
        yield number, of_job


def _current(run: PastRun, now_ms: int) -> Iterator[tuple[int, Attempt | None]]:
    """Yields the jobs that have not ended, with their present attempt; None if they wait."""
    for number, of_job in _submitted(run, now_ms):
        begun = [attempt for attempt in run.attempts.get(number, ()) if attempt.reserved_ms <= now_ms]
        if begun and begun[-1].released_ms > now_ms:
            yield number, begun[-1]
        elif not (begun and begun[-1].is_last) and not _is_cancelled(of_job, now_ms):
            yield number, None


def _is_cancelled(of_job: PastJob, now_ms: int) -> bool:
    cancelled_ms = of_job.job.cancelled_ms
    return cancelled_ms is not None and of_job.job.submit_ms + cancelled_ms <= now_ms


def _until(of_job: PastJob, attempts: Iterable[Attempt], now_ms: int) -> PastJob:
    started = [a for a in attempts if a.started_ms is not None and a.started_ms <= now_ms]
    submit_ms = of_job.job.submit_ms
    cancelled_ms = of_job.job.cancelled_ms if not started and _is_cancelled(of_job, now_ms) else None
    if not started:
        job = replace(of_job.job, run_ms=None, cancelled_ms=cancelled_ms)
        waiting_ms = now_ms - submit_ms if cancelled_ms is None else None
        return PastJob(job, of_job.limit_ms, waiting_ms=waiting_ms)
    first, last = started[0], started[-1]
    has_ended = last.is_last and last.released_ms <= now_ms
    return PastJob(
        replace(of_job.job, run_ms=_run_ms(of_job, last) if has_ended else None, cancelled_ms=None),
        of_job.limit_ms,
        None if first.started_ms is None else first.started_ms - submit_ms,
        None if first.admitted_ms is None else first.admitted_ms - first.reserved_ms,
        None if last.admitted_ms is None or last.started_ms is None else last.started_ms - last.admitted_ms,
        of_job.flavor or _flavor(last),
        None if has_ended or last.started_ms is None else now_ms - last.started_ms,
    )


def _run_ms(of_job: PastJob, last: Attempt) -> int | None:
    """Returns the time from the last start of a job until its end. A record shows that of a job which was
    cancelled while it ran, too."""
    if of_job.job.run_ms is not None or last.started_ms is None:
        return of_job.job.run_ms
    return last.released_ms - last.started_ms


def _flavor(attempt: Attempt) -> str:
    admission = attempt.admission
    return "" if admission is None else main_flavor(assigned.flavors for assigned in admission.pod_sets)


def _observed(
    number: int, of_job: PastJob, attempt: Attempt | None, admission: core.Admission | None, now_ms: int
) -> ObservedWorkload:
    job = of_job.job
    size = attempt.size_at(now_ms) if attempt is not None else None
    admitted_ms = ready_ms = None
    if attempt is not None and attempt.admitted_ms is not None and attempt.admitted_ms <= now_ms:
        admitted_ms = attempt.admitted_ms
        is_ready = attempt.started_ms is not None and attempt.started_ms <= now_ms
        ready_ms = attempt.started_ms if is_ready else None
    workload = core.Workload(
        key=key_of(number),
        uid=f"{number:010}",
        cluster_queue=job.queue,
        priority=job.priority,
        queued_at_ms=job.submit_ms,
        pod_sets=job.pod_sets,
        admission=admission,
        reserved_at_ms=attempt.reserved_ms if attempt is not None else 0,
        run_time_ms=of_job.limit_ms,
    )
    return ObservedWorkload(
        workload=at_granted_size(workload),
        priority_class=job.priority_class,
        user=job.user,
        admitted_ms=admitted_ms,
        ready_ms=ready_ms,
        reports_ready=True,
        groups=job.groups if size is None else _asking(job.groups, size.asked),
    )


def _asking(groups: Mapping[str, WorkerGroup], asked: Mapping[str, int]) -> dict[str, WorkerGroup]:
    """Returns the groups with what they ask for."""
    return {name: replace(group, asked=asked.get(name, group.asked)) for name, group in groups.items()}


class _Placing:
    """Finds admissions of jobs that hold quota at a moment, for records without them."""

    def __init__(self, configuration: QueueConfiguration, now_ms: int) -> None:
        self._engine = core.Engine(configuration.snapshot, configuration.rules)
        self._now_ms = now_ms

    def admission(self, run: PastRun, number: int, attempt: Attempt | None) -> core.Admission | None:
        """Returns the recorded admission, else the core's decision after the earlier admissions;
        None if the quota does not suffice."""
        if attempt is None:
            return None
        size = attempt.size_at(self._now_ms)
        if attempt.admission is not None:
            return attempt.admission if size is None else size.admission
        waiting = _observed(number, run.jobs[number], None, None, self._now_ms).workload
        admission = self._admitted([waiting]).get(waiting.key)
        if admission is not None:
            gang = replace(waiting, admission=admission, reserved_at_ms=attempt.reserved_ms)
            if size is not None:
                gang = self._grown(gang, run.jobs[number].job.groups, size.granted)
            self._engine.put(at_granted_size(gang))
            return gang.admission
        return None

    def _grown(
        self, gang: core.Workload, groups: Mapping[str, WorkerGroup], granted: Mapping[str, int]
    ) -> core.Workload:
        """Returns a gang with as much of its recorded surplus as fits."""
        assert gang.admission is not None, "only gangs with quota are elastic"
        self._engine.put(gang)
        sizes = {
            name: ElasticPodSet(
                group.minimum, group.replica, min(granted.get(name, group.minimum), group.maximum)
            )
            for name, group in groups.items()
        }
        admitted = self._admitted(split(gang, sizes)[1:])
        for key in admitted:
            self._engine.remove(key)
        return replace(gang, admission=grown(gang.admission, admitted.values()))

    def _admitted(self, workloads: Sequence[core.Workload]) -> dict[str, core.Admission]:
        """Returns the admissions of workloads, by key; those that do not fit are removed."""
        waiting = {workload.key: workload for workload in workloads}
        admitted: dict[str, core.Admission] = {}
        for workload in workloads:
            self._engine.put(workload)
        while waiting:
            decided = self._engine.decide(self._now_ms, explain=False).admissions
            new = {d.workload: d.admission for d in decided if waiting.pop(d.workload, None) is not None}
            if not new:
                break
            admitted |= new
        for key in waiting:
            self._engine.remove(key)
        return admitted
