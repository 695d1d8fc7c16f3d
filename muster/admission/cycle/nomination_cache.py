"""Reuses the nomination of a head that does not fit, as long as the state has not changed.

A workload that waits for its targets to terminate is a head again in each pass of each decision.
"""

from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.fungibility import Mode
from muster.admission.model import Workload
from muster.admission.preemption.search import Target
from muster.admission.state.state import WorkingState

Nomination = tuple[Assignment, tuple[Target, ...]]


class NominationCache:
    """The nominations of a contention group in the current version of the state."""

    __slots__ = ("_nominations", "_version")

    def __init__(self) -> None:
        self._version = -1
        self._nominations: dict[str, tuple[Workload, Nomination]] = {}  # by workload key

    def lookup(self, state: WorkingState, workload: Workload) -> Nomination | None:
        """Returns the nomination of this workload; None if there is none in this version of the state."""
        if self._version != state.version:
            return None
        cached = self._nominations.get(workload.key)
        return cached[1] if cached is not None and cached[0] is workload else None

    def store(self, state: WorkingState, workload: Workload, nomination: Nomination) -> None:
        """Stores the nomination, unless it fits: its quota is then used, which changes the state. The caller
        must not change it afterwards."""
        if nomination[0].mode is Mode.FIT:
            return
        if self._version != state.version:
            self._version = state.version
            self._nominations.clear()
        self._nominations[workload.key] = workload, nomination

    def renew(self, workload: Workload, marked: Workload) -> None:
        """Keeps the nomination of a workload that is marked: nominations do not depend on the mark."""
        cached = self._nominations.get(workload.key)
        if cached is not None and cached[0] is workload:
            self._nominations[workload.key] = marked, cached[1]

    def drop(self, key: str) -> None:
        """Drops the nomination of a workload that is no longer pending."""
        self._nominations.pop(key, None)

    def clear(self) -> None:
        """Drops all nominations, whose targets may be a workload that was removed."""
        self._nominations.clear()
