"""A write that a pass plans, what must come before it, and the events to record once it succeeded."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from muster.controller.workload.events import ObjectEvent
from muster.kube.writes import Write

DEFERRABLE_WRITES_MAX = 64
"""In one pass, so that starts and reservations wait for few of them."""


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """`subject` is the key of the Workload that the write concerns, or the UID of another object: after a
    refused write, only its subject backs off. `requires_no_pods_of` is the UID of a Workload that must have
    no pods in a fresh list from the API server, as watches deliver events of jobs and pods in no common
    order. `on_refusal` returns the write that replaces a creation, given the API server's error.

    `provides` is what other writes may need: quota that it releases, or the finalizer of a ClusterQueue. A
    write that `needs` any of it is not sent before. `deferrable`: no reservation depends on it, so it comes
    after these."""

    subject: str
    write: Write
    events: tuple[ObjectEvent, ...] = ()
    requires_no_pods_of: str = ""
    on_refusal: Callable[[str], "PlannedWrite"] | None = field(default=None, compare=False)
    provides: frozenset[Hashable] = frozenset()
    needs: frozenset[Hashable] = frozenset()
    deferrable: bool = False
