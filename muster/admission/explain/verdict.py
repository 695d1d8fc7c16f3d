"""The verdict of the last cycle on a pending workload."""

from enum import Enum, auto
from typing import NamedTuple

from muster.admission.cycle.entry import Entry, EntryOutcome
from muster.admission.model import Workload


class Wait(Enum):
    """The reason why a workload waits after the last cycle, for heads and for workloads behind them."""

    NO_FIT = auto()
    PREEMPTING = auto()  # its targets are terminating
    OVERLAPPING = auto()  # it needs targets that another workload has preempted
    RESERVED = auto()  # the quota that it needs is reserved for another workload
    BEHIND = auto()
    GATED = auto()  # it requires preemption, and a preemption gate is closed


class HeadWait(NamedTuple):
    """The reason why a head of the last cycle waits, with the gangs that it waits for."""

    wait: Wait
    other: str = ""  # key of the gang that it waits for
    targets: tuple[str, ...] = ()  # keys of gangs that are preempted, or their surplus
    replicas: int = 0  # that are preempted, if all of them are surplus


_WAITS = {
    EntryOutcome.PREEMPTING: Wait.PREEMPTING,
    EntryOutcome.OVERLAPPING: Wait.OVERLAPPING,
    EntryOutcome.CROWDED_OUT: Wait.RESERVED,
    EntryOutcome.DEFERRED: Wait.RESERVED,
    EntryOutcome.GATED: Wait.GATED,
}


def verdict_of(head: Entry | None, behind: Workload | None) -> HeadWait:
    """Returns the verdict on a workload. `head` is its entry in the last cycle, None if it was not a head;
    `behind` the head that blocks it, None if it is a head itself or was tried."""
    if behind is not None:
        return HeadWait(Wait.BEHIND, behind.gang_key)
    if head is None:
        return HeadWait(Wait.NO_FIT)
    leaving = [holding.workload for holding in [t.holding for t in head.targets] or head.claimed]
    targets = tuple(dict.fromkeys(workload.gang_key for workload in leaving))
    replicas = len(leaving) if all(workload.surplus_of for workload in leaving) else 0
    return HeadWait(_WAITS.get(head.outcome, Wait.NO_FIT), head.rival, targets, replicas)
