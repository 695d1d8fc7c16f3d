"""One workload: what binds it, what would have to change, what is ahead of it, and its history."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from muster import admission as core
from muster.controller.passes.queue_counts import queue_of
from muster.controller.workload.phases import Phase
from muster.live.overview.overview import Overview
from muster.live.overview.remedies import remedies
from muster.live.overview.rows import WorkloadRow, row
from muster.live.verdict import Answer, Verdict, last_verdict, verdict_of
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, millis, rfc3339
from muster.objects.workload_status import FINISHED

AHEAD_MAX = 20


@dataclass(frozen=True, slots=True)
class Lack:
    """Quota that the workload lacks of a flavor's resource, as in core.Shortfall."""

    flavor: str
    resource: str
    needed: int
    available: int
    missing: int
    most: int

    QUANTITIES: ClassVar = ("needed", "available", "missing", "most")


@dataclass(frozen=True, slots=True)
class Excluded:
    """A flavor that pods of a set can not use; `message` is the end of a sentence about it."""

    flavor: str
    pod_set: str
    cause: str
    message: str


@dataclass(frozen=True, slots=True)
class Victim:
    """A workload that would be preempted, with Kueue's reason."""

    reason: str
    workload: WorkloadRow


@dataclass(frozen=True, slots=True)
class Event:
    """A condition since its last change."""

    at_ms: int
    condition: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class CheckRow:
    """The state of an AdmissionCheck."""

    name: str
    state: str
    message: str
    retries: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Why:
    """Why a workload waits, or that it does not. `answer` is None once it holds quota or is over; `sentence`
    says the answer. `reason` is what binds it in the core's words; `remedies` are what would have to change.
    `ahead` are the first of the workloads before it in its queue, `preempts` those that it would preempt now.
    `history` has the oldest change first; `requeues` counts its evictions, and `requeue_ms` is when its
    back-off ends."""

    workload: WorkloadRow
    answer: Answer | None
    sentence: str
    reason: str
    remedies: tuple[str, ...]
    lacks: tuple[Lack, ...]
    exclusions: tuple[Excluded, ...]
    ahead: tuple[WorkloadRow, ...]
    preempts: tuple[Victim, ...]
    checks: tuple[CheckRow, ...]
    history: tuple[Event, ...]
    requeues: int
    requeue_ms: int | None
    now_ms: int


def why(seen: Overview, workload: Workload) -> Why:
    """Returns it for a Workload of the cluster, as its controller would decide now."""
    own = _row(seen, workload)
    waits = own.phase in (Phase.PENDING, Phase.BACK_OFF)
    found = _verdict(seen, workload) if waits else None
    waiting = found.waiting if found is not None else None
    return Why(
        workload=own,
        answer=found.answer if found is not None else None,
        sentence=_sentence(seen, workload, own, found),
        reason=_reason(own, found),
        remedies=tuple(remedies(found, own.cluster_queue)) if found is not None else (),
        lacks=tuple(_lacks(waiting)),
        exclusions=tuple(_exclusions(waiting)),
        ahead=tuple(_ahead(seen, own)),
        preempts=tuple(_victims(seen, found)),
        checks=tuple(_checks(workload)),
        history=tuple(_history(workload)),
        requeues=workload.status.requeue_state.count if workload.status.requeue_state else 0,
        requeue_ms=_requeue_ms(workload) if waits else None,
        now_ms=seen.now_ms,
    )


def _row(seen: Overview, workload: Workload) -> WorkloadRow:
    return row(seen, workload, queue_of(workload, seen.cluster))


def _verdict(seen: Overview, workload: Workload) -> Verdict:
    if not seen.is_complete:
        return last_verdict(workload)
    return verdict_of(seen.state, seen.engine.fork(), workload, seen.cluster.job_of(workload), seen.cluster)


def _reason(own: WorkloadRow, found: Verdict | None) -> str:
    if found is not None and found.waiting is not None:
        return found.waiting.reason.name
    return "" if found is not None and found.admission is not None else own.reason


def _sentence(seen: Overview, workload: Workload, own: WorkloadRow, found: Verdict | None) -> str:
    queue = f"ClusterQueue {own.cluster_queue}"
    if found is None:
        return _held_or_over(workload, own, queue)
    match found.answer:
        case Answer.FITS:
            return f"It fits now in {queue}, and gets its quota with the controller's next decision."
        case Answer.PREEMPTS:
            count = len(found.preemptions)
            victims = f"{count} workloads" if count > 1 else "one workload"
            return f"It fits now in {queue}: it preempts {victims}."
        case Answer.WAITS:
            return f"It waits in {queue}. Reason: {found.message}."
    return f"It can not be admitted as it is. Reason: {found.message}."


def _held_or_over(workload: Workload, own: WorkloadRow, queue: str) -> str:
    since = rfc3339(own.since_ms)
    match own.phase:
        case Phase.FINISHED:
            over = find_condition(workload.status.conditions, FINISHED)
            return f"It is over since {rfc3339(millis(over.last_transition_time) if over else 0)}."
        case Phase.EVICTED:
            return f"It is leaving {queue} since {since}. Reason: {own.message or own.reason}."
        case Phase.QUOTA_RESERVED:
            waits = f" It waits for its admission checks: {own.message}." if own.message else ""
            return f"It holds quota of {queue} since {since}.{waits}"
    return f"It is admitted in {queue} since {since}."


def _lacks(waiting: core.Waiting | None) -> Iterator[Lack]:
    for one in waiting.shortfalls if waiting is not None else ():
        available = max(0, one.available)
        yield Lack(one.flavor, one.resource, one.needed, available, one.missing, one.most)


def _exclusions(waiting: core.Waiting | None) -> Iterator[Excluded]:
    for one in waiting.exclusions if waiting is not None else ():
        yield Excluded(one.flavor, one.pod_set, one.cause.value, one.message)


def _ahead(seen: Overview, own: WorkloadRow) -> Iterator[WorkloadRow]:
    before = 0 if own.position is None else own.position - 1
    for key in islice(seen.positions(own.cluster_queue), min(before, AHEAD_MAX)):
        yield row(seen, seen.cluster.workloads[key], own.cluster_queue)


def _victims(seen: Overview, found: Verdict | None) -> Iterator[Victim]:
    for preemption in found.preemptions if found is not None else ():
        yield Victim(preemption.reason.value, _row(seen, seen.cluster.workloads[preemption.workload]))


def _checks(workload: Workload) -> Iterator[CheckRow]:
    for one in workload.status.admission_checks:
        yield CheckRow(one.name, one.state, one.message, one.retry_count, millis(one.last_transition_time))


def _history(workload: Workload) -> Iterator[Event]:
    created = Event(millis(workload.metadata.creation_timestamp), "Created", "True", "", "")
    found = [
        Event(millis(one.last_transition_time), one.type, one.status, one.reason, one.message)
        for one in workload.status.conditions
    ]
    yield from sorted([created, *found], key=lambda event: event.at_ms)


def _requeue_ms(workload: Workload) -> int | None:
    state = workload.status.requeue_state
    return millis(state.requeue_at) if state is not None and state.requeue_at else None
