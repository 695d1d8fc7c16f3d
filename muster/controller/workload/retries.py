"""Retries that a user requests by the job's annotation `muster.dev/retry`, without rights on Workloads.

A retry ends the back-off of a Workload, or activates one that was deactivated after too many attempts. Each
new value of the annotation is one retry. The first one is granted at once, later ones after waits that grow
like the back-off, so that retries in a loop come no faster than the controller's own. The Workload, which its
user can not write, keeps what was granted.
"""

import hashlib
from dataclasses import dataclass

import msgspec

from muster.admission.lifecycle import BY_CHECK, BY_PODS_READY, DEACTIVATED, RETRIES_EXCEEDED, Backoff
from muster.controller.jobs.annotations import RETRY
from muster.controller.jobs.job import Job
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, millis, rfc3339
from muster.objects.workload_status import REQUEUED, holds_quota, is_finished

RETRIED = "muster.dev/retried"  # an annotation of the Workload
FAILED_TO_START = "FailedToStart"  # a reason of Muster: its pods contradict its admission
CURABLE = frozenset(f"{DEACTIVATED}DueTo{reason}" for reason in (RETRIES_EXCEEDED, BY_CHECK, FAILED_TO_START))
"""Reasons of deactivations that the next attempt may not meet again."""
DIGEST_LENGTH = 16


class Granted(msgspec.Struct, frozen=True, rename="camel"):
    """The last retry that was granted: the digest of the annotation's value, how many there were, the end
    of the back-off that it cut short, and when the next one may follow."""

    value: str = ""
    count: int = 0
    back_off: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True)
class Retry:
    """A retry that is requested and not granted yet. `due_ms` is when it may be; `activates`: it needs to
    set `spec.active`."""

    granted: Granted
    due_ms: int
    activates: bool


def requested(workload: Workload, job: Job | None, now_ms: int, backoff: Backoff) -> Retry | None:
    """Returns the retry that its job requests, if there is something to retry."""
    text = job.metadata.annotations.get(RETRY, "") if job is not None else ""
    if not text or job is None or job.stop_requested:
        return None
    status, before = workload.status, granted(workload)
    if _digest(text) == before.value:
        return None
    activates = is_curable(workload)
    if not activates and (not workload.spec.active or not _backs_off(status, now_ms)):
        return None
    count, due_ms = before.count + 1, millis(before.next)
    next_ms = max(now_ms, due_ms) + 1000 * backoff.wait_s(count) + 999
    ends = status.requeue_state.requeue_at if status.requeue_state else None
    return Retry(Granted(_digest(text), count, ends or "", rfc3339(next_ms)), due_ms, activates)


def granted(workload: Workload) -> Granted:
    """Returns the last retry that was granted."""
    text = workload.metadata.annotations.get(RETRIED)
    if text is None:
        return Granted()
    try:
        found = msgspec.json.decode(text, type=Granted)
        millis(found.next)
    except ValueError:  # msgspec's errors too
        return Granted()
    return found


def annotation(now: Granted) -> str:
    return msgspec.json.encode(now).decode()


def cuts_short(workload: Workload, status: WorkloadStatus) -> bool:
    """Whether a retry was granted in its current back-off."""
    ends = status.requeue_state.requeue_at if status.requeue_state else None
    return bool(ends) and granted(workload).back_off == ends


def is_curable(workload: Workload) -> bool:
    """Whether it was deactivated for a reason that a retry may cure, and not by an administrator since."""
    requeued = find_condition(workload.status.conditions, REQUEUED)
    evicted = requeued is not None and requeued.status == "False" and requeued.reason in CURABLE
    return evicted and not workload.spec.active and not holds_quota(workload.status)


def _backs_off(status: WorkloadStatus, now_ms: int) -> bool:
    if holds_quota(status) or is_finished(status) or status.requeue_state is None:
        return False
    requeued = find_condition(status.conditions, REQUEUED)
    waits = (
        requeued is not None and requeued.status == "False" and requeued.reason in (BY_CHECK, BY_PODS_READY)
    )
    return waits and millis(status.requeue_state.requeue_at) > now_ms


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]
