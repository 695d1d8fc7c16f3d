"""What a rule has to say to a workload that waits."""

from dataclasses import dataclass, replace

from muster.admission.model import Waiting, WaitReason

OPEN = frozenset(
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
class Remark:
    """With a `reason` it is why the workload waits; without, it comes on top of what else is missing.

    `until_ms` is the next moment at which the rule may decide otherwise, if nothing else happens."""

    message: str
    until_ms: int | None = None
    reason: WaitReason | None = None


def remarked(waiting: Waiting, remark: Remark | None) -> Waiting:
    """With what the rule says, unless no waiting helps, or its victims are leaving."""
    if remark is None or waiting.reason not in OPEN or waiting.reason is WaitReason.PREEMPTION:
        return waiting
    if remark.reason is None:
        return replace(waiting, message=f"{waiting.message}, {remark.message}", until_ms=remark.until_ms)
    return Waiting(waiting.workload, remark.reason, remark.message, remark.until_ms)


def earliest(*moments_ms: int | None) -> int | None:
    return min((at_ms for at_ms in moments_ms if at_ms is not None), default=None)


def duration(ms: int) -> str:
    """In whole units, the largest that is exact: 90 s, 2 h."""
    for name, unit_ms in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if ms and ms % unit_ms == 0:
            return f"{ms // unit_ms} {name}"
    return f"{ms} ms"
