"""The note of an optional rule for a workload that waits."""

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
"""Reasons that pass by themselves."""


@dataclass(frozen=True, slots=True)
class WaitNote:
    """A note of a rule. With a `reason` it is why the workload waits; without, it is added to the other
    message.

    `until_ms` is the next moment at which the rule may decide otherwise, if nothing else happens."""

    message: str
    until_ms: int | None = None
    reason: WaitReason | None = None


class Ruling(NamedTuple):
    """A rule's answer to a workload that would fit: with a note it has to wait. `until_ms` is the next moment
    at which the answer may be another, if nothing else happens."""

    note: WaitNote | None
    until_ms: int | None = None


def with_note(waiting: Waiting, note: WaitNote | None) -> Waiting:
    """Adds the note, unless no waiting helps, or the workload's victims are leaving."""
    if note is None or waiting.reason not in TRANSIENT_REASONS or waiting.reason is WaitReason.PREEMPTION:
        return waiting
    if note.reason is None:
        return replace(waiting, message=f"{waiting.message}, {note.message}", until_ms=note.until_ms)
    return Waiting(waiting.workload, note.reason, note.message, note.until_ms)


def earliest(*moments_ms: int | None) -> int | None:
    first = None
    for at_ms in moments_ms:  # a generator is slow, and every event of a simulation asks
        if at_ms is not None and (first is None or at_ms < first):
            first = at_ms
    return first


def duration(ms: int) -> str:
    """Formats in whole units, the largest that is exact: 90 s, 2 h."""
    for name, unit_ms in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if ms and ms % unit_ms == 0:
            return f"{ms // unit_ms} {name}"
    return f"{ms} ms"
