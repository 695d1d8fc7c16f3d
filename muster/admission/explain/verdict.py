"""The verdict of the last cycle on a pending workload."""

from enum import Enum, auto
from typing import NamedTuple

from muster.admission.cycle.entry import Entry, EntryOutcome
from muster.admission.model import Workload


class Wait(Enum):
    """Outcomes of the last cycle, for heads and for workloads behind them."""

    NO_ROOM = auto()
    PREEMPTING = auto()  # its victims are leaving
    OVERLAPPING = auto()  # it needs victims that another one has preempted
    KEPT = auto()  # it would fit, but the quota is reserved for another one
    BEHIND = auto()
    GATED = auto()  # it would have to preempt, and may not yet


class Verdict(NamedTuple):
    wait: Wait
    other: str = ""  # key of the workload that it waits for
    victims: tuple[str, ...] = ()  # keys


_WAITS = {
    EntryOutcome.PREEMPTING: Wait.PREEMPTING,
    EntryOutcome.OVERLAPPING: Wait.OVERLAPPING,
    EntryOutcome.CROWDED_OUT: Wait.KEPT,
    EntryOutcome.DEFERRED: Wait.KEPT,
    EntryOutcome.GATED: Wait.GATED,
}


def verdict_of(head: Entry | None, behind: Workload | None) -> Verdict:
    """The verdict on a workload with this entry in the last cycle (None: it was not a head), which waits
    behind this head (None: it is one, or was tried)."""
    if behind is not None:
        return Verdict(Wait.BEHIND, behind.key)
    if head is None:
        return Verdict(Wait.NO_ROOM)
    leaving = [target.holding for target in head.targets] or head.claimed
    victims = tuple(holding.workload.key for holding in leaving)
    return Verdict(_WAITS.get(head.outcome, Wait.NO_ROOM), head.rival, victims)
