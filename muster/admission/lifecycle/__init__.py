"""Transitions of workloads between decisions: admission checks, pods ready, execution time, stopped queues.

Pure functions of plain values; the caller reads and writes the objects.
"""

from muster.admission.lifecycle.advance import (
    BY_CHECK,
    BY_CLUSTER_QUEUE,
    BY_JOB,
    BY_LOCAL_QUEUE,
    BY_PODS_READY,
    DEACTIVATED,
    RETRIES_EXCEEDED,
    TIME_EXCEEDED,
    Action,
    Admit,
    Deactivate,
    DeactivationTarget,
    Evict,
    ReservedWorkload,
    Stay,
    next_action,
)
from muster.admission.lifecycle.backoff import Backoff
from muster.admission.lifecycle.checks import CheckStatus, reset_check
from muster.admission.lifecycle.execution import used_execution_s
from muster.admission.lifecycle.readiness import (
    READY_REASONS,
    PodsReady,
    Readiness,
    WaitForPodsReady,
    readiness_after,
)
from muster.admission.lifecycle.requeue import EvictedWorkload, Requeued, back_in_queue

__all__ = [
    "BY_CHECK",
    "BY_CLUSTER_QUEUE",
    "BY_JOB",
    "BY_LOCAL_QUEUE",
    "BY_PODS_READY",
    "DEACTIVATED",
    "READY_REASONS",
    "RETRIES_EXCEEDED",
    "TIME_EXCEEDED",
    "Action",
    "Admit",
    "Backoff",
    "CheckStatus",
    "Deactivate",
    "DeactivationTarget",
    "Evict",
    "EvictedWorkload",
    "PodsReady",
    "Readiness",
    "Requeued",
    "ReservedWorkload",
    "Stay",
    "WaitForPodsReady",
    "back_in_queue",
    "next_action",
    "readiness_after",
    "reset_check",
    "used_execution_s",
]
