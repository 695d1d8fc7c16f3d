"""What an autoscaled job asks for in a simulation."""

from dataclasses import dataclass

from muster.translation.elastic import GROWTH_MAX, ElasticPodSet


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

    def pod_set(self, granted: int, terminating: int) -> ElasticPodSet:
        """Returns the pod set for the core, of which `granted` pods hold quota and others terminate."""
        asked = min(self.asked, granted + GROWTH_MAX * self.replica)
        running = max(granted, self.minimum) + terminating if terminating else 0
        return ElasticPodSet(self.minimum, self.replica, asked, running)
