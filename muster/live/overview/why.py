"""Explains one workload: the quota that it lacks, the changes that would admit it, the workloads ahead, its
history."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

from muster import admission as core
from muster.cluster.phases import Phase
from muster.cluster.queue_counts import queue_of
from muster.live.gang_pods import NO_PODS, PodListing, gang_pods
from muster.live.overview.overview import Overview
from muster.live.overview.pod_problems import PodProblem, pod_problems
from muster.live.overview.remedies import remedies
from muster.live.overview.rows import WorkloadRow, row
from muster.live.overview.worker_groups import size_messages, with_running
from muster.live.verdict import Verdict, VerdictKind, last_verdict, verdict_of
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, millis, rfc3339
from muster.objects.workload_status import FINISHED

AHEAD_MAX = 20


@dataclass(frozen=True, slots=True)
class ShortfallRow:
    """Missing quota of a resource in a flavor, as in core.Shortfall."""

    flavor: str
    resource: str
    needed: int
    available: int
    missing: int
    available_max: int

    QUANTITIES: ClassVar = ("needed", "available", "missing", "available_max")


@dataclass(frozen=True, slots=True)
class ExclusionRow:
    """A flavor that the pods of a set cannot use; `message` continues a sentence about the flavor."""

    flavor: str
    pod_set: str
    cause: str
    message: str


@dataclass(frozen=True, slots=True)
class PreemptionTarget:
    """A workload that would be preempted, with Kueue's reason."""

    reason: str
    workload: WorkloadRow


@dataclass(frozen=True, slots=True)
class ConditionTransition:
    """A condition at its last transition."""

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
    """The explanation of a workload: the reason why it waits, or the fact that it does not wait."""

    workload: WorkloadRow
    answer: VerdictKind | None  # None once it holds quota or has finished
    sentence: str  # the answer as text
    reason: str  # the core's WaitReason
    remedies: tuple[str, ...]  # changes that would admit it
    lacks: tuple[ShortfallRow, ...]
    exclusions: tuple[ExclusionRow, ...]
    ahead: tuple[WorkloadRow, ...]  # the first AHEAD_MAX workloads before it in its queue
    preempts: tuple[PreemptionTarget, ...]  # the workloads that it would preempt now
    checks: tuple[CheckRow, ...]
    history: tuple[ConditionTransition, ...]  # the oldest change first
    requeues: int  # number of evictions
    requeue_ms: int | None  # when its requeue backoff ends
    now_ms: int
    pod_problems: tuple[PodProblem, ...] = ()  # why its pods do not run, or were killed
    pods_unread: str = ""  # why its pods cannot be read
    size: tuple[str, ...] = ()  # how its worker groups shrink, and why they do not grow


def why(overview: Overview, workload: Workload, listing: PodListing = NO_PODS) -> Why:
    """Explains a Workload of the cluster, as its controller would decide now. `listing` includes its pods."""
    current = _with_running(_row(overview, workload), overview, workload, listing)
    waits = current.phase in (Phase.PENDING, Phase.BACK_OFF)
    decision = _verdict(overview, workload) if waits else None
    waiting = decision.waiting if decision is not None else None
    return Why(
        workload=current,
        answer=decision.answer if decision is not None else None,
        sentence=_sentence(overview, workload, current, decision),
        reason=_reason(current, decision),
        remedies=tuple(remedies(decision, current.cluster_queue)) if decision is not None else (),
        lacks=tuple(_lacks(waiting)),
        exclusions=tuple(_exclusions(waiting)),
        ahead=tuple(_ahead(overview, current)),
        preempts=tuple(_preemption_targets(overview, decision)),
        checks=tuple(_checks(workload)),
        history=tuple(_history(workload)),
        requeues=workload.status.requeue_state.count if workload.status.requeue_state else 0,
        requeue_ms=_requeue_ms(workload) if waits else None,
        now_ms=overview.now_ms,
        pod_problems=_pod_problems(overview, workload, listing),
        pods_unread=listing.refusal,
        size=tuple(f"{message}." for _, message in size_messages(workload)),
    )


def _pod_problems(overview: Overview, workload: Workload, listing: PodListing) -> tuple[PodProblem, ...]:
    if listing.pods is None:
        return ()
    return pod_problems(gang_pods(listing.pods, workload, overview.cluster), overview.now_ms)


def _with_running(
    current: WorkloadRow, overview: Overview, workload: Workload, listing: PodListing
) -> WorkloadRow:
    """Returns the row with the running pods of its worker groups, if pods were listed."""
    if current.elastic is None or listing.pods is None:
        return current
    pods = gang_pods(listing.pods, workload, overview.cluster)
    return replace(current, elastic=with_running(current.elastic, pods))


def _row(overview: Overview, workload: Workload) -> WorkloadRow:
    return row(overview, workload, queue_of(workload, overview.cluster))


def _verdict(overview: Overview, workload: Workload) -> Verdict:
    if not overview.is_complete:
        return last_verdict(workload)
    return verdict_of(
        overview.state, overview.engine.fork(), workload, overview.cluster.job_of(workload), overview.cluster
    )


def _reason(current: WorkloadRow, decision: Verdict | None) -> str:
    if decision is not None and decision.waiting is not None:
        return decision.waiting.reason.name
    return "" if decision is not None and decision.admission is not None else current.reason


def _sentence(overview: Overview, workload: Workload, current: WorkloadRow, decision: Verdict | None) -> str:
    queue = f"ClusterQueue {current.cluster_queue}"
    if decision is None:
        return _held_or_finished(workload, current, queue)
    match decision.answer:
        case VerdictKind.FITS:
            return f"It fits in {queue} now and will be admitted in the controller's next pass."
        case VerdictKind.PREEMPTS:
            count = len(decision.preemptions)
            workloads = f"{count} workloads" if count > 1 else "one workload"
            return f"It fits in {queue} now by preempting {workloads}."
        case VerdictKind.WAITS:
            return f"It waits in {queue}. Reason: {decision.message}."
    return f"It cannot be admitted in its current form. Reason: {decision.message}."


def _held_or_finished(workload: Workload, current: WorkloadRow, queue: str) -> str:
    since = rfc3339(current.since_ms)
    match current.phase:
        case Phase.FINISHED:
            finished = find_condition(workload.status.conditions, FINISHED)
            return f"Finished at {rfc3339(millis(finished.last_transition_time) if finished else 0)}."
        case Phase.EVICTED:
            return f"Eviction from {queue} started at {since}. Reason: {current.message or current.reason}."
        case Phase.QUOTA_RESERVED:
            waits = f" It waits for its admission checks: {current.message}." if current.message else ""
            return f"It has held quota of {queue} since {since}.{waits}"
    return f"Admitted by {queue} at {since}."


def _lacks(waiting: core.Waiting | None) -> Iterator[ShortfallRow]:
    for shortfall in waiting.shortfalls if waiting is not None else ():
        available = max(0, shortfall.available)
        yield ShortfallRow(
            shortfall.flavor,
            shortfall.resource,
            shortfall.needed,
            available,
            shortfall.missing,
            shortfall.available_max,
        )


def _exclusions(waiting: core.Waiting | None) -> Iterator[ExclusionRow]:
    for exclusion in waiting.exclusions if waiting is not None else ():
        yield ExclusionRow(exclusion.flavor, exclusion.pod_set, exclusion.cause.value, exclusion.message)


def _ahead(overview: Overview, current: WorkloadRow) -> Iterator[WorkloadRow]:
    before = 0 if current.position is None else current.position - 1
    for key in islice(overview.positions(current.cluster_queue), min(before, AHEAD_MAX)):
        yield row(overview, overview.cluster.workloads[key], current.cluster_queue)


def _preemption_targets(overview: Overview, decision: Verdict | None) -> Iterator[PreemptionTarget]:
    for preemption in decision.preemptions if decision is not None else ():
        target = overview.cluster.workloads[preemption.workload]
        yield PreemptionTarget(preemption.reason.value, _row(overview, target))


def _checks(workload: Workload) -> Iterator[CheckRow]:
    for check in workload.status.admission_checks:
        yield CheckRow(
            check.name, check.state, check.message, check.retry_count, millis(check.last_transition_time)
        )


def _history(workload: Workload) -> Iterator[ConditionTransition]:
    created = ConditionTransition(millis(workload.metadata.creation_timestamp), "Created", "True", "", "")
    changes = [
        ConditionTransition(
            millis(condition.last_transition_time),
            condition.type,
            condition.status,
            condition.reason,
            condition.message,
        )
        for condition in workload.status.conditions
    ]
    yield from sorted([created, *changes], key=lambda event: event.at_ms)


def _requeue_ms(workload: Workload) -> int | None:
    state = workload.status.requeue_state
    return millis(state.requeue_at) if state is not None and state.requeue_at else None
