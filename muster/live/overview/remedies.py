"""Changes after which a workload that waits would get its quota."""

from collections.abc import Iterator

from muster import admission as core
from muster.admission import WaitReason, quantities
from muster.live.verdict import Answer, Verdict
from muster.objects.meta import rfc3339

SENTENCES = {
    WaitReason.PREEMPTION: "Its victims leave: {others}.",
    WaitReason.BEHIND_HEAD: "{others}, the head of the queue, starts or leaves the queue.",
    WaitReason.TOPOLOGY: "Nodes near each other become free: running workloads on them end.",
    WaitReason.QUEUE_STOPPED: "An administrator sets spec.stopPolicy of ClusterQueue {queue} to None.",
    WaitReason.QUEUE_INACTIVE: "An administrator fixes ClusterQueue {queue}: {message}.",
    WaitReason.BACKOFF: "Its back-off ends{until}.",
    WaitReason.BUDGET: "The next period of the budget begins{until}, or an administrator raises the budget.",
    WaitReason.RESERVED: "The workload that room is reserved for has started.",
    WaitReason.CHECK_FAILED: "Its admission checks are prepared again{until}.",
    WaitReason.REFUSED: "The job is changed, or the ClusterQueue and the LimitRanges that refuse it are.",
    WaitReason.GATED: "The preemption gate of the workload is opened.",
}
"""For reasons without a lack of quota."""


def remedies(found: Verdict, queue: str) -> Iterator[str]:
    """Yields sentences; each names one change. Without any the workload needs none."""
    waiting = found.waiting
    if found.answer in (Answer.FITS, Answer.PREEMPTS):
        return
    if waiting is None:
        yield f"The reason is removed: {found.message}."
        return
    never = found.answer is Answer.NEVER
    for lack in waiting.shortfalls:
        yield _quota(lack, queue, never)
    for excluded in waiting.exclusions:
        yield f"Pod set {excluded.pod_set} may use flavor {excluded.flavor}, which {excluded.message}."
    if waiting.reason in SENTENCES:
        until = f" at {rfc3339(waiting.until_ms)}" if waiting.until_ms is not None else ""
        others = ", ".join(waiting.others)
        said = SENTENCES[waiting.reason]
        yield said.format(queue=queue, others=others, until=until, message=waiting.message)
    elif waiting.others:
        yield f"These have started or left: {', '.join(waiting.others)}."


def _quota(lack: core.Shortfall, queue: str, never: bool) -> str:
    missing = quantities.format(lack.resource, lack.missing)
    what = f"{missing} more {lack.resource} of flavor {lack.flavor}"
    if never:
        most = quantities.format(lack.resource, lack.most)
        return f"ClusterQueue {queue} gets {what} (it can have {most} at most), or the job asks for less."
    return f"{what} become free in ClusterQueue {queue} or its cohort, or are added to its nominal quota."
