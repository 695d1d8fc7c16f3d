"""Notes of optional rules on workloads that wait."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from muster.admission.model import Waiting, WaitReason

TRANSIENT_REASONS = frozenset(
    {
        WaitReason.QUOTA,
        WaitReason.TOPOLOGY,
        WaitReason.BEHIND_HEAD,
        WaitReason.BUDGET,
        WaitReason.RESERVED,
        WaitReason.PREEMPTION,
    }
)
"""Reasons that end without a change by users."""


@dataclass(frozen=True, slots=True)
class WaitNote:
    """A rule's note. With a `reason` it replaces the workload's message; without one, it is appended.

    `until_ms` is the next time at which the rule's decision may change by time alone."""

    message: str
    until_ms: int | None = None
    reason: WaitReason | None = None


class Ruling(NamedTuple):
    """A rule's decision on a workload that fits: with a note, it must wait. `until_ms` is the next time at
    which the decision may change by time alone."""

    note: WaitNote | None
    until_ms: int | None = None


def with_note(waiting: Waiting, note: WaitNote | None) -> Waiting:
    """Adds the note, unless waiting does not help or preemption is in progress."""
    if note is None or waiting.reason not in TRANSIENT_REASONS or waiting.reason is WaitReason.PREEMPTION:
        return waiting
    if note.reason is None:
        message = f"{waiting.message}, {note.message}"
        return replace(waiting, message=message, until_ms=earliest(waiting.until_ms, note.until_ms))
    return Waiting(waiting.workload, note.reason, note.message, note.until_ms)


def earliest(*moments_ms: int | None) -> int | None:
    """Returns the earliest of these times, ignoring None."""
    first = None
    for at_ms in moments_ms:  # a generator is slow, and each event of a simulation calls this
        if at_ms is not None and (first is None or at_ms < first):
            first = at_ms
    return first


def duration(ms: int) -> str:
    """Formats a duration in the largest exact unit: 90 s, 2 h."""
    for name, unit_ms in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if ms and ms % unit_ms == 0:
            return f"{ms // unit_ms} {name}"
    return f"{ms} ms"
