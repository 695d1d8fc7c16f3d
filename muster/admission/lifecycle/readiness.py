"""All-or-nothing for pods: a workload whose pods are not ready in time is evicted.

Source: Kueue's waitForPodsReady (apis/config/v1beta2; pkg/controller/core/workload_controller.go,
admittedNotReadyWorkload and triggerDeactivation; pkg/controller/jobframework, generatePodsReadyCondition).
"""

from dataclasses import dataclass, field
from enum import StrEnum

from muster.admission.lifecycle.backoff import Backoff


class Readiness(StrEnum):
    """Reasons of the condition PodsReady; it is False for the first two."""

    WAIT_FOR_START = "WaitForStart"
    WAIT_FOR_RECOVERY = "WaitForRecovery"
    STARTED = "Started"
    RECOVERED = "Recovered"


READY_REASONS = (Readiness.STARTED, Readiness.RECOVERED)


@dataclass(frozen=True, slots=True)
class PodsReady:
    """The condition PodsReady of an admitted workload, and its last transition."""

    state: Readiness
    since_ms: int


@dataclass(frozen=True, slots=True)
class WaitForPodsReady:
    """Kueue's waitForPodsReady, with its defaults. `recovery_timeout_s` None: no timeout.

    `retries_max` limits requeues, after which a workload is deactivated; None: no limit. `block_admission`:
    no workload is admitted while pods of another are not ready."""

    timeout_s: int = 1800
    recovery_timeout_s: int | None = None
    block_admission: bool = False
    backoff: Backoff = field(default_factory=Backoff)
    retries_max: int | None = None


def readiness_after(before: Readiness | None, ready: bool) -> Readiness:
    """Returns the next reason of PodsReady; `ready`: all pods are ready now."""
    recovering = before in (Readiness.WAIT_FOR_RECOVERY, Readiness.RECOVERED)
    if ready:
        return Readiness.RECOVERED if recovering else Readiness.STARTED
    if before is Readiness.WAIT_FOR_RECOVERY or before in READY_REASONS:
        return Readiness.WAIT_FOR_RECOVERY
    return Readiness.WAIT_FOR_START


def deadline_ms(rules: WaitForPodsReady, pods: PodsReady | None, admitted_at_ms: int) -> int | None:
    """Returns when an admitted workload is evicted unless its pods become ready; None: never."""
    if pods is None or pods.state is Readiness.WAIT_FOR_START:
        return admitted_at_ms + rules.timeout_s * 1000
    if pods.state is Readiness.WAIT_FOR_RECOVERY and rules.recovery_timeout_s is not None:
        return pods.since_ms + rules.recovery_timeout_s * 1000
    return None
