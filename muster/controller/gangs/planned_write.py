"""A write that a pass plans, with its preconditions and the events to record after it succeeded."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from muster.controller.workload.events import ObjectEvent
from muster.kube.writes import Write

DEFERRABLE_WRITES_MAX = 64
"""The limit per pass, so that starts and reservations are not delayed by many deferrable writes."""


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """A planned write.

    `subject` is the key of the Workload that the write concerns, or the UID of another object: if the write
    fails, only its subject backs off. `requires_no_pods_of` is the UID of a Workload that must have no pods
    in a consistent list from the API server, as watches of jobs and pods are not ordered relative to each
    other. `on_refusal` maps the API server's error to the write that replaces a refused creation.

    `provides` names what other writes may depend on: quota that this write releases, or the finalizer of a
    ClusterQueue. A write is sent after all writes that provide anything that it `needs`. `deferrable` writes
    are sent after all reservations, as no reservation depends on them."""

    subject: str
    write: Write
    events: tuple[ObjectEvent, ...] = ()
    requires_no_pods_of: str = ""
    on_refusal: Callable[[str], "PlannedWrite"] | None = field(default=None, compare=False)
    provides: frozenset[Hashable] = frozenset()
    needs: frozenset[Hashable] = frozenset()
    deferrable: bool = False
