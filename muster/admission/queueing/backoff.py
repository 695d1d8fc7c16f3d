"""Workloads that are not to be tried before a moment."""

from muster.admission.model import Workload


def is_backing_off(workload: Workload, now_ms: int) -> bool:
    """Kueue: backoffWaitingTimeExpired in pkg/cache/queue."""
    return workload.requeue_at_ms is not None and workload.requeue_at_ms > now_ms
