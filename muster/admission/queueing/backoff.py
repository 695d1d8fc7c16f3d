"""Backoff of pending workloads."""

from muster.admission.model import Workload


def is_backing_off(workload: Workload, now_ms: int) -> bool:
    """Returns whether the backoff has not expired. Kueue: backoffWaitingTimeExpired in pkg/cache/queue."""
    return workload.requeue_at_ms is not None and workload.requeue_at_ms > now_ms
