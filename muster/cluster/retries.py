"""Retries that users request with the job's annotation `muster.dev/retry`, without permissions on Workloads.

A retry ends the back-off of a Workload, or reactivates a Workload that was deactivated after too many
attempts. Each new value of the annotation requests one retry. The first is granted immediately, later ones
after waits that grow like the back-off, so that retrying in a loop is not faster than the
controller's own requeueing. Grants are recorded in the Workload, which users can't write.
"""

import hashlib
from dataclasses import dataclass

import msgspec

from muster.admission.lifecycle import BY_CHECK, BY_PODS_READY, DEACTIVATED, RETRIES_EXCEEDED, Backoff
from muster.cluster.jobs.job import Job
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, millis, rfc3339
from muster.objects.names import RETRIED, RETRY_ANNOTATION
from muster.objects.workload_status import REQUEUED, holds_quota, is_finished

FAILED_TO_START = "FailedToStart"  # Muster's own reason: the pods contradict the admission
CURABLE = frozenset(f"{DEACTIVATED}DueTo{reason}" for reason in (RETRIES_EXCEEDED, BY_CHECK, FAILED_TO_START))
"""Reasons for deactivation that another attempt may avoid."""
DIGEST_LENGTH = 16


class Granted(msgspec.Struct, frozen=True, rename="camel"):
    """The last granted retry: a digest of the annotation's value, the number of retries so far, the end of
    the back-off that it cut short, and the earliest time of the next retry."""

    value: str = ""
    count: int = 0
    back_off: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True)
class Retry:
    """A requested retry that is not granted yet. `due_ms` is the earliest time to grant it; `activates`:
    granting it sets `spec.active`."""

    granted: Granted
    due_ms: int
    activates: bool


def requested(workload: Workload, job: Job | None, now_ms: int, backoff: Backoff) -> Retry | None:
    """Returns the retry that the job requests; None if there is no new request or nothing to retry."""
    text = job.metadata.annotations.get(RETRY_ANNOTATION, "") if job is not None else ""
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
    """Returns the last granted retry; an empty one if there is none or the annotation can't be parsed."""
    text = workload.metadata.annotations.get(RETRIED)
    if text is None:
        return Granted()
    try:
        retry = msgspec.json.decode(text, type=Granted)
        millis(retry.next)
    except ValueError:  # includes msgspec's errors
        return Granted()
    return retry


def annotation(retry: Granted) -> str:
    """Returns the value of the annotation that records a granted retry."""
    return msgspec.json.encode(retry).decode()


def cuts_short(workload: Workload, status: WorkloadStatus) -> bool:
    """Returns whether a granted retry ends the current back-off."""
    ends = status.requeue_state.requeue_at if status.requeue_state else None
    return bool(ends) and granted(workload).back_off == ends


def is_curable(workload: Workload) -> bool:
    """Returns whether the Workload is inactive for a reason that a retry may cure, not by a later decision of
    an administrator."""
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
