"""How far the search for flavors came, so that the next cycle goes on from there.

Kueue: AssignmentClusterQueueState.LastTriedFlavorIdx in pkg/workload. Whether a remembered
progress still holds (same shape, nothing freed in the cohort since) is for the cycle to say.
"""

from collections.abc import Mapping
from dataclasses import dataclass

ALL_TRIED = -1


@dataclass(frozen=True, slots=True)
class Progress:
    """For each pod set that was looked at, in order: by resource, the index in its resource group of
    the flavor at which the search ended, or ALL_TRIED if that was the last one."""

    tried: tuple[Mapping[str, int], ...] = ()

    @property
    def pending(self) -> bool:
        """Whether some flavor was not tried: the workload is not to be parked yet (PendingFlavors)."""
        return any(index != ALL_TRIED for of in self.tried for index in of.values())

    def start(self, pod_set: int, resource: str) -> int:
        """The index of the flavor to begin with."""
        if pod_set >= len(self.tried):
            return 0
        return self.tried[pod_set].get(resource, ALL_TRIED) + 1
