"""The demand of a worker group in a simulation, and the nodes that it waits for."""

from dataclasses import dataclass, replace

from muster.forecast.traces.trace import SizeDemand
from muster.translation.elastic import GROWTH_MAX, ElasticPodSet


@dataclass(frozen=True, slots=True)
class NextNodes:
    """The nodes of a queued pool for which the growth of a worker group waits."""

    pods: int  # on the requested nodes; 0: the last request failed, and the next follows its back-off
    since_ms: int  # when they were requested, or will be
    request: str  # the name of the pending or the failed ProvisioningRequest


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """The pods of a worker group that the job asks for; all numbers count pods.

    `replica` is the size of a replica, and divides the others. A group with `maximum` above `asked` asks for
    another replica while no quota is free for one: Ray's autoscaler then knows its limit, and asks for no
    more."""

    minimum: int
    replica: int
    asked: int
    maximum: int

    def asking(self, demand: SizeDemand, unmet_share: float) -> "WorkerGroup":
        """Returns the group with another demand. `unmet_share` of what it lacks to its maximum is added to a
        demand that was limited."""
        more = round(unmet_share * (self.maximum - demand.asked)) if demand.limited else 0
        asked = max(self.minimum, min(demand.asked + more, self.maximum))
        return replace(self, asked=asked - (asked - self.minimum) % self.replica)

    def pod_set(self, granted: int, terminating: int) -> ElasticPodSet:
        """Returns the pod set for the core, of which `granted` pods hold quota and others terminate."""
        asked = min(self.asked, granted + GROWTH_MAX * self.replica)
        running = max(granted, self.minimum) + terminating if terminating else 0
        return ElasticPodSet(self.minimum, self.replica, asked, running)
