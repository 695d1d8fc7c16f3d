"""Admission checks: the second phase of admission, after quota reservation.

Source: Kueue pkg/workload/admissionchecks.go, reconcileCheckBasedEviction and resetChecksOnEviction.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from muster.admission.model import CheckState


@dataclass(frozen=True, slots=True)
class CheckStatus:
    """The state of an admission check of a workload. `changed_at_ms` is the last transition, `retries` the
    number of evictions by this check, `wait_s` the backoff that it requests with RETRY."""

    name: str
    state: CheckState = CheckState.PENDING
    message: str = ""
    changed_at_ms: int = 0
    retries: int = 0
    wait_s: int | None = None


def all_ready(checks: Iterable[CheckStatus]) -> bool:
    """Returns whether every check is Ready."""
    return all(check.state is CheckState.READY for check in checks)


def in_state(checks: Iterable[CheckStatus], state: CheckState) -> tuple[CheckStatus, ...]:
    """Returns the checks in a state."""
    return tuple(check for check in checks if check.state is state)


def sentence(checks: Iterable[CheckStatus], state: CheckState) -> str:
    """Lists the checks in a state, in Kueue's words: `AdmissionCheck in Retry state: "a" (why)`."""
    matches = sorted(in_state(checks, state), key=lambda check: check.name)
    names = "; ".join(f'"{c.name}" ({c.message})' if c.message else f'"{c.name}"' for c in matches)
    return f"AdmissionCheck{'s' if len(matches) > 1 else ''} in {state} state: {names}"


def retry_at_ms(checks: Iterable[CheckStatus]) -> int | None:
    """Returns the end of the longest backoff that checks request."""
    backoffs = ((c.changed_at_ms, c.wait_s) for c in in_state(checks, CheckState.RETRY))
    return max((at_ms + wait_s * 1000 for at_ms, wait_s in backoffs if wait_s is not None), default=None)


def reset_check(check: CheckStatus, now_ms: int) -> CheckStatus:
    """Resets a check to Pending after an eviction. It increments `retries` if the check requested the retry,
    and clears it otherwise."""
    if check.state is CheckState.PENDING:
        return check
    return replace(
        check,
        state=CheckState.PENDING,
        message=f"Reset to Pending after eviction. Previously: {check.state}",
        changed_at_ms=now_ms,
        retries=check.retries + 1 if check.state is CheckState.RETRY else 0,
    )
