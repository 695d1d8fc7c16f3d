"""Runs a gang through the admission core and places its pods on nodes of the declared pools.

The core decides with the objects that the stack declares, in an empty cluster. As in Kueue, it assigns a
flavor for each group of resources, so a pod may get node selectors of several flavors that contradict each
other: such a gang is admitted, but only a placement shows that it never starts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import floor

from muster import admission as core
from muster.admission.quantities import parse
from muster.forecast.queue_objects import from_manifests
from settings.manifests.objects import manifests
from settings.model.base import amount
from settings.model.pools.allocatable import Amounts, allocatable
from settings.model.pools.pool import Pool
from settings.model.pools.tpus import TPU_RESOURCE
from settings.model.queues.queue import ClusterQueue
from settings.model.stack import Settings

# The least that a pod of a gang requests of what its queue counts: quotas that do not grant this run nothing.
LEAST = {"cpu": "100m", "memory": "128Mi"}


@dataclass(frozen=True, slots=True)
class Gang:
    """Identical pods that run only together, on the nodes of one flavor."""

    flavor: str
    count: int
    requests: Mapping[str, str]

    def __str__(self) -> str:
        amounts = ", ".join(f"{quantity} {resource}" for resource, quantity in self.requests.items())
        return f"{self.count} pod{'s' if self.count > 1 else ''} of {amounts} each"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one gang: why it never runs, empty if it does. `elsewhere`: the resources that it gets
    from other flavors, with these."""

    why: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)


def smallest_gang(pool: Pool, queue: ClusterQueue) -> Gang:
    """Returns the smallest gang of the queue on the pool: one pod with a device, or all machines of a TPU
    slice."""
    counted = {resource for quotas in queue.quotas.values() for resource in quotas}
    least = {resource: quantity for resource, quantity in LEAST.items() if resource in counted}
    devices = {resource: "1" for resource in pool.capacity if "/" in resource}
    if TPU_RESOURCE in devices:
        devices[TPU_RESOURCE] = str(pool.machine.tpu_chips)
    return Gang(pool.flavor_name, pool.slice_nodes, {**least, **devices})


class Proof:
    """Decides about gangs of one stack, which keeps all other rules: its queues are valid."""

    def __init__(self, settings: Settings) -> None:
        configuration = from_manifests("stack", manifests(settings))
        queues = {
            name: replace(queue, stop=core.StopPolicy.NONE)
            for name, queue in configuration.snapshot.cluster_queues.items()
        }
        self._objects = replace(configuration.snapshot, cluster_queues=queues)
        self._rules = configuration.rules
        self._settings = settings

    def outcome(self, queue: str, gang: Gang) -> Outcome:
        """Returns whether a gang of the queue is admitted in an empty cluster, and placed."""
        pods = core.PodSet(
            "workers", gang.count, {name: parse(name, quantity) for name, quantity in gang.requests.items()}
        )
        workload = core.Workload("proof/gang", "gang", queue, 0, 0, (pods,))
        queues = {**self._objects.cluster_queues, queue: self._with_only(queue, gang.flavor)}
        objects = replace(self._objects, cluster_queues=queues, workloads=(workload,))
        plan = core.decide(objects, 0, self._rules)
        if not plan.admissions:
            return Outcome("; ".join(waiting.message for waiting in plan.waiting))
        flavors = plan.admissions[0].admission.pod_sets[0].flavors
        selector = self._selector(flavors.values())
        if selector is not None and any(self._runs(pool, selector, gang) for pool in self._settings.pools):
            return Outcome()
        elsewhere = {resource: flavor for resource, flavor in flavors.items() if flavor != gang.flavor}
        return Outcome("no declared node fits its pods", elsewhere)

    def _with_only(self, queue: str, flavor: str) -> core.ClusterQueue:
        """Returns the queue with this flavor as the only one of its resource group."""
        whole = self._objects.cluster_queues[queue]
        groups = (
            replace(group, flavors=tuple(f for f in group.flavors if f.flavor == flavor) or group.flavors)
            for group in whole.groups
        )
        return replace(whole, groups=tuple(groups))

    def _selector(self, flavors: Iterable[str]) -> Mapping[str, str] | None:
        """Returns the node labels that pods of these flavors select; None if two contradict each other."""
        selector: dict[str, str] = {}
        for flavor in flavors:
            for key, value in self._objects.flavors[flavor].node_labels.items():
                if selector.setdefault(key, value) != value:
                    return None
        return selector

    def _runs(self, pool: Pool, selector: Mapping[str, str], gang: Gang) -> bool:
        """Returns whether nodes of the pool have these labels, and room for the gang's pods."""
        if any(pool.node_labels.get(key) != value for key, value in selector.items()):
            return False
        free = _free(pool, in_gke=self._settings.place is not None)
        return pool.nodes_max * _pods_per_node(free, gang) >= gang.count


def _pods_per_node(free: Amounts, gang: Gang) -> int:
    return min(floor(free.get(name, 0) / amount(quantity)) for name, quantity in gang.requests.items())


def _free(pool: Pool, *, in_gke: bool) -> Amounts:
    """Returns what one node has for pods; what the system takes of it is known in GKE only."""
    if in_gke:
        return allocatable(pool)
    return {resource: amount(quantity) for resource, quantity in pool.capacity.items()}
