"""All or nothing for pods: a gang whose pods are not all ready in time gives its quota back.

Source: Kueue's waitForPodsReady (apis/config/v1beta2; pkg/controller/core/workload_controller.go,
admittedNotReadyWorkload and triggerDeactivation; pkg/controller/jobframework, generatePodsReadyCondition).
"""

from dataclasses import dataclass, field
from enum import StrEnum

from muster.admission.lifecycle.backoff import Backoff


class Readiness(StrEnum):
    """Reasons of the condition PodsReady: the first two while it is False."""

    WAIT_FOR_START = "WaitForStart"
    WAIT_FOR_RECOVERY = "WaitForRecovery"
    STARTED = "Started"
    RECOVERED = "Recovered"


READY_REASONS = (Readiness.STARTED, Readiness.RECOVERED)


@dataclass(frozen=True, slots=True)
class PodsReady:
    """The state of an admitted gang's pods, and since when."""

    state: Readiness
    since_ms: int


@dataclass(frozen=True, slots=True)
class WaitForPodsReady:
    """How long pods may take, with Kueue's defaults. `recovery_timeout_s` None: for ever.

    `retries_max` None: an evicted gang is retried for ever; else it is deactivated
    when it would be once more. `block_admission`: nothing else is admitted meanwhile."""

    timeout_s: int = 1800
    recovery_timeout_s: int | None = None
    block_admission: bool = False
    backoff: Backoff = field(default_factory=Backoff)
    retries_max: int | None = None


def readiness_after(before: Readiness | None, ready: bool) -> Readiness:
    """The state of an admitted gang's pods, which are now all ready or not."""
    recovering = before in (Readiness.WAIT_FOR_RECOVERY, Readiness.RECOVERED)
    if ready:
        return Readiness.RECOVERED if recovering else Readiness.STARTED
    if before is Readiness.WAIT_FOR_RECOVERY or before in READY_REASONS:
        return Readiness.WAIT_FOR_RECOVERY
    return Readiness.WAIT_FOR_START


def deadline_ms(rules: WaitForPodsReady, pods: PodsReady | None, admitted_at_ms: int) -> int | None:
    """When an admitted gang has to go if its pods stay as they are; None: never."""
    if pods is None or pods.state is Readiness.WAIT_FOR_START:
        return admitted_at_ms + rules.timeout_s * 1000
    if pods.state is Readiness.WAIT_FOR_RECOVERY and rules.recovery_timeout_s is not None:
        return pods.since_ms + rules.recovery_timeout_s * 1000
    return None
