"""Changes that would let a waiting workload get its quota."""

from collections.abc import Iterator

from muster import admission as core
from muster.admission import WaitReason, quantities
from muster.live.verdict import Verdict, VerdictKind
from muster.objects.meta import rfc3339

SENTENCES = {
    WaitReason.PREEMPTION: "Its preemption targets release their quota: {others}.",
    WaitReason.BEHIND_HEAD: "{others}, the head of the queue, starts or leaves the queue.",
    WaitReason.TOPOLOGY: "Enough nodes in one topology domain become free.",
    WaitReason.QUEUE_STOPPED: "An administrator sets spec.stopPolicy of ClusterQueue {queue} to None.",
    WaitReason.QUEUE_INACTIVE: "An administrator fixes ClusterQueue {queue}: {message}.",
    WaitReason.BACKOFF: "Its requeue backoff ends{until}.",
    WaitReason.BUDGET: "The next period of the budget begins{until}, or an administrator raises the budget.",
    WaitReason.RESERVED: "The workload that holds the reservation has started.",
    WaitReason.CHECK_FAILED: "Its admission checks are reset{until}.",
    WaitReason.REFUSED: "The job changes, or the ClusterQueue or LimitRange that rejects it does.",
    WaitReason.GATED: "The preemption gate of the workload is opened.",
}
"""Conditions for wait reasons other than missing quota."""


def remedies(verdict: Verdict, queue: str) -> Iterator[str]:
    """Yields one sentence per change that is needed; none if the workload fits."""
    waiting = verdict.waiting
    if verdict.answer in (VerdictKind.FITS, VerdictKind.PREEMPTS):
        return
    if waiting is None:
        yield f"The reason no longer applies: {verdict.message}."
        return
    never = verdict.answer is VerdictKind.NEVER
    for lack in waiting.shortfalls:
        yield _quota(lack, queue, never)
    for excluded in waiting.exclusions:
        yield f"Pod set {excluded.pod_set} may use flavor {excluded.flavor}, which {excluded.message}."
    if waiting.reason in SENTENCES:
        until = f" at {rfc3339(waiting.until_ms)}" if waiting.until_ms is not None else ""
        workloads = ", ".join(waiting.others)
        template = SENTENCES[waiting.reason]
        yield template.format(queue=queue, others=workloads, until=until, message=waiting.message)
    elif waiting.others:
        yield f"These workloads have started or left the queue: {', '.join(waiting.others)}."


def _quota(lack: core.Shortfall, queue: str, never: bool) -> str:
    missing = quantities.format(lack.resource, lack.missing)
    amount = f"{missing} more {lack.resource} of flavor {lack.flavor}"
    if never:
        most = quantities.format(lack.resource, lack.available_max)
        return f"ClusterQueue {queue} gets {amount} (its maximum is {most}), or the job requests less."
    return f"{amount} become free in ClusterQueue {queue} or its cohort, or are added to its nominal quota."
