"""Timeouts after which a ProvisioningRequest without a response is retried.

An autoscaler that serves a request's class sets Accepted within seconds. Otherwise it is down or serves
another class, and Kueue waits forever (its issue 3245). The duration of an *accepted* request depends on free
capacity: GKE's queued provisioning may wait in a zone's queue for days, so by default an accepted request
never times out.
"""

from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.kueue_checks import ProvisioningRequestConfig
from muster.objects.meta import find_condition, millis
from muster.objects.names import ANSWER_TIMEOUT_ANNOTATION, CAPACITY_TIMEOUT_ANNOTATION

ANSWER_S = 600
SECONDS_DIGITS_MAX = 9

TIMED_OUT = "timeout"
NOT_ACCEPTED, NO_CAPACITY = "was not accepted within", "was accepted, but got no capacity within"
FINAL = ("Provisioned", "Failed", "BookingExpired", "CapacityRevoked")


def problem(config: ProvisioningRequestConfig) -> str:
    """Returns a sentence about the first annotation that is not a number of seconds; empty if there is
    none."""
    for name in (ANSWER_TIMEOUT_ANNOTATION, CAPACITY_TIMEOUT_ANNOTATION):
        text = config.metadata.annotations.get(name)
        if text is not None and _seconds(text) is None:
            return (
                f"annotation {name} of ProvisioningRequestConfig {config.key} is {text[:40]!r}: "
                "expected a whole number of seconds, 1 or more"
            )
    return ""


def due_ms(request: ProvisioningRequest, config: ProvisioningRequestConfig, pending_ms: int) -> int | None:
    """Returns the time at which the request times out without a response; None if it never does.

    The limit starts no earlier than `pending_ms`, when the check became pending by the controller's own
    clock: if that is ahead of the API server's clock, every request would be overdue immediately
    otherwise."""
    true = {c.type: c for c in request.status.conditions if c.status == "True"}
    if any(kind in true for kind in FINAL):
        return None
    accepted = true.get("Accepted")
    if accepted is None:
        return max(pending_ms, millis(request.metadata.creation_timestamp)) + answer_s(config) * 1000
    capacity_s = _limit_s(config, CAPACITY_TIMEOUT_ANNOTATION)
    if capacity_s is None:
        return None
    return max(pending_ms, millis(accepted.last_transition_time)) + capacity_s * 1000


def answer_s(config: ProvisioningRequestConfig) -> int:
    """Returns the time limit for a request to be created and accepted."""
    return _limit_s(config, ANSWER_TIMEOUT_ANNOTATION) or ANSWER_S


def reason(request: ProvisioningRequest, config: ProvisioningRequestConfig) -> str:
    """Returns a sentence about an overdue request and what to check."""
    accepted = find_condition(request.status.conditions, "Accepted")
    if accepted is not None and accepted.status == "True":
        waited_s = _limit_s(config, CAPACITY_TIMEOUT_ANNOTATION)
        return f"ProvisioningRequest {request.metadata.name} {NO_CAPACITY} {waited_s} s"
    waited_s = answer_s(config)
    answer = f" ({accepted.message})" if accepted is not None and accepted.message else ""
    return (
        f"ProvisioningRequest {request.metadata.name} {NOT_ACCEPTED} {waited_s} s{answer}: check that the "
        f"cluster's autoscaler runs and serves class {request.spec.provisioning_class_name!r}"
    )


def reports_timeout(message: str) -> bool:
    """Returns whether the message of a check, or of the eviction that it caused, reports a timeout."""
    return NOT_ACCEPTED in message or NO_CAPACITY in message


def _limit_s(config: ProvisioningRequestConfig, annotation: str) -> int | None:
    return _seconds(config.metadata.annotations.get(annotation, ""))


def _seconds(text: str) -> int | None:
    is_number = text.isascii() and text.isdecimal() and len(text) <= SECONDS_DIGITS_MAX
    return int(text) or None if is_number else None
