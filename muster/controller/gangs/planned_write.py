"""The writes that a pass plans, and a fair selection of the deferred writes."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from typing import TypeVar

from muster.controller.workload.events import ObjectEvent
from muster.kube.writes import Write

DEFERRABLE_WRITES_MAX = 64
"""The limit per pass, so that starts and reservations are not delayed by many deferrable writes."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """A planned write with its preconditions. The order of writes follows from `provides`, `needs` and
    `deferrable`."""

    # The key of the Workload that the write concerns, or the UID of another object: if the write fails, only
    # its subject backs off.
    subject: str
    write: Write
    # Recorded after the write has succeeded.
    events: tuple[ObjectEvent, ...] = ()
    # The UID of a Workload that must have no pods in a consistent list from the API server: watches of jobs
    # and pods are not ordered relative to each other.
    requires_no_pods_of: str = ""
    # Maps the API server's error to the write that replaces a refused creation.
    on_refusal: Callable[[str], "PlannedWrite"] | None = field(default=None, compare=False)
    # Quota that the write releases, or the finalizer of a ClusterQueue that it sets.
    provides: frozenset[Hashable] = frozenset()
    # The write is sent after all writes that provide any of these.
    needs: frozenset[Hashable] = frozenset()
    # No reservation depends on the write, so it is sent after all of them.
    deferrable: bool = False


def round_robin(items: Iterable[T], group_of: Callable[[T], Hashable], limit: int) -> list[T]:
    """Returns the first `limit` items, round-robin by group, so that no group delays another. Within a group,
    items keep their order."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(group_of(item), []).append(item)
    wrapped = zip_longest(*([(item,) for item in group] for group in groups.values()), fillvalue=())
    return list(islice(chain.from_iterable(chain.from_iterable(wrapped)), limit))
