"""Admission checks: the second phase of an admission, after the quota is reserved.

Source: Kueue pkg/workload/admissionchecks.go, reconcileCheckBasedEviction and resetChecksOnEviction.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from muster.admission.model import CheckState


@dataclass(frozen=True, slots=True)
class CheckStatus:
    """One check of one gang. `retries`: how often it has evicted the gang; `changed_at_ms`: when
    its state last changed; `wait_s`: with RETRY, for how long the gang is to stay away."""

    name: str
    state: CheckState = CheckState.PENDING
    message: str = ""
    changed_at_ms: int = 0
    retries: int = 0
    wait_s: int | None = None


def all_ready(checks: Iterable[CheckStatus]) -> bool:
    return all(check.state is CheckState.READY for check in checks)


def in_state(checks: Iterable[CheckStatus], state: CheckState) -> tuple[CheckStatus, ...]:
    return tuple(check for check in checks if check.state is state)


def sentence(checks: Iterable[CheckStatus], state: CheckState) -> str:
    """`AdmissionCheck in Retry state: "a" (why)`, as Kueue tells it of those in that state."""
    found = sorted(in_state(checks, state), key=lambda check: check.name)
    told = "; ".join(f'"{c.name}" ({c.message})' if c.message else f'"{c.name}"' for c in found)
    return f"AdmissionCheck{'s' if len(found) > 1 else ''} in {state} state: {told}"


def retry_at_ms(checks: Iterable[CheckStatus]) -> int | None:
    """When the last of those that ask for another try lets the gang back into its queue."""
    asked = ((c.changed_at_ms, c.wait_s) for c in in_state(checks, CheckState.RETRY))
    return max((at_ms + wait_s * 1000 for at_ms, wait_s in asked if wait_s is not None), default=None)


def reset_check(check: CheckStatus, now_ms: int) -> CheckStatus:
    """After an eviction: pending again. Only a check that asked for the retry counts it; others
    start from 0."""
    if check.state is CheckState.PENDING:
        return check
    return replace(
        check,
        state=CheckState.PENDING,
        message=f"Reset to Pending after eviction. Previously: {check.state}",
        changed_at_ms=now_ms,
        retries=check.retries + 1 if check.state is CheckState.RETRY else 0,
    )
