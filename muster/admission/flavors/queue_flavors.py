"""The fixed part of a queue's flavors, computed once for all assignments.

The groups by resource, the columns of quota by flavor, and which flavors a kind of pods may use.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from muster.admission.flavors.attempts import Attempt
from muster.admission.flavors.demand import PODS, PodSetGroup
from muster.admission.flavors.fungibility import NO_FIT
from muster.admission.flavors.placement import Placer
from muster.admission.model import (
    ClusterQueue,
    Flavor,
    FlavorResource,
    PodSet,
    PreemptionPolicy,
    ResourceGroup,
    Rules,
    Workload,
)
from muster.admission.nodes import mismatch
from muster.admission.topology import Topologies

KINDS_MAX = 10_000  # of pods, for which it remembers the flavors that they match
NOT_ALLOWED = "is not one of those allowed for it"  # by its annotation


class FlavorGroup(NamedTuple):
    """A resource group: its flavors in order, each with its columns of quota by resource."""

    position: int
    covered: frozenset[str]
    columns: tuple[tuple[str, Mapping[str, FlavorResource]], ...]


class QueueFlavors:
    """A queue's flavors as an assigner needs them: one for each queue of a snapshot.

    A flavor that does not exist matches no pods. `topologies` is called where pods are to be placed; without
    it topology is not looked at."""

    __slots__ = (
        "_flavors",
        "_groups",
        "_known",
        "_placer",
        "_places",
        "_sized",
        "_tainted",
        "_topologies",
        "counts_pods",
        "may_borrow",
        "queue",
        "rules",
    )

    def __init__(
        self,
        queue: ClusterQueue,
        flavors: Mapping[str, Flavor],
        rules: Rules = Rules(),  # noqa: B008 - a frozen value
        topologies: Callable[[], Topologies] | None = None,
    ) -> None:
        groups = [_group(index, group) for index, group in enumerate(queue.groups)]
        names = [name for group in groups for name, _ in group.columns]
        self.queue = queue
        self.rules = rules
        self.may_borrow = _borrows_after_preemption(queue, rules)
        self._groups = {resource: group for group in groups for resource in group.covered}
        self.counts_pods = PODS in self._groups
        self._flavors = flavors
        known = [flavors[name] for name in names if name in flavors]
        self._topologies = topologies
        self._placer: Placer | None = None
        self._places = topologies is not None and any(flavor.topology for flavor in known)
        self._tainted = len(known) < len(names) or any(flavor.taints for flavor in known)
        self._sized = any(flavor.node_sizes for flavor in known)
        self._known: dict[Hashable, tuple[Attempt | None, ...]] = {}

    def flavor(self, name: str) -> Flavor | None:
        """The flavor; None if it does not exist."""
        return self._flavors.get(name)

    def allows(self, workload: Workload, flavor: str) -> bool:
        """Whether the workload may take the flavor, by its own annotation (gate ConcurrentAdmission)."""
        allowed = workload.allowed_flavors
        return allowed is None or not self.rules.concurrent_admission or flavor in allowed

    def group_of(self, resource: str) -> FlavorGroup | None:
        return self._groups.get(resource)

    @property
    def placer(self) -> Placer | None:
        """None where topology is not looked at. Most queues never need it."""
        if self._placer is None and self._topologies is not None:
            self._placer = Placer(self.queue, self._topologies())
        return self._placer

    def places_on(self, flavor: str) -> bool:
        """Whether pods with this flavor are placed on its topology."""
        return self.placer is not None and self.placer.places_on(flavor)

    def placer_of(self, workload: Workload) -> Placer | None:
        """The placer for the workload; None if nothing of it is to be placed."""
        if self._places:
            return self.placer
        for pod_set in workload.pod_sets:
            if pod_set.topology is not None:
                return self.placer
        return None

    def refused(self, pod_set_group: PodSetGroup, group: FlavorGroup) -> Sequence[Attempt | None] | None:
        """The flavors of the group that pods can not use, each in its place; None if they can use all."""
        found = None
        for demand in pod_set_group:
            refused = self._refused(demand.pod_set, group)
            if found is None or refused is None:
                found = found or refused
            else:
                found = tuple(one or other for one, other in zip(found, refused, strict=True))
        return found

    def _refused(self, pod_set: PodSet, group: FlavorGroup) -> tuple[Attempt | None, ...] | None:
        selects = pod_set.node_selector or pod_set.affinity
        if not (
            selects or self._tainted or self._sized or self._places or (pod_set.topology and self.placer)
        ):
            return None
        kind = group.position, self._kind(pod_set)
        found = self._known.get(kind)
        if found is None:
            if len(self._known) >= KINDS_MAX:
                self._known.clear()
            found = tuple(self._refusal(pod_set, name, group) for name, _ in group.columns)
            self._known[kind] = found
        return found

    def _kind(self, pod_set: PodSet) -> Hashable:
        """Equal for pods that match the same flavors."""
        topology = (pod_set.topology, frozenset(pod_set.requests)) if self._topologies else None
        selector = frozenset(pod_set.node_selector.items())
        requests = frozenset(pod_set.requests.items()) if self._sized else None
        return selector, pod_set.affinity, pod_set.tolerations, topology, requests

    def _refusal(self, pod_set: PodSet, name: str, group: FlavorGroup) -> Attempt | None:
        reason = self._mismatch(pod_set, name, group)
        return None if reason is None else Attempt(name, NO_FIT, mismatch=reason)

    def _mismatch(self, pod_set: PodSet, name: str, group: FlavorGroup) -> str | None:
        flavor = self._flavors.get(name)
        if flavor is None:
            return "does not exist"
        reason = self.placer.mismatch(pod_set, name, group.covered) if self.placer else None
        return reason or mismatch(pod_set, flavor)


def _group(index: int, group: ResourceGroup) -> FlavorGroup:
    return FlavorGroup(
        index,
        frozenset(group.covered),
        tuple(
            (of.flavor, {resource: FlavorResource(of.flavor, resource) for resource in group.covered})
            for of in group.flavors
        ),
    )


def _borrows_after_preemption(queue: ClusterQueue, rules: Rules) -> bool:
    """Whether it may preempt for more than its own quota (Kueue: canPreemptWhileBorrowing)."""
    if queue.borrow_within_cohort is not None:
        return True
    return rules.fair_sharing is not None and queue.reclaim_within_cohort is not PreemptionPolicy.NEVER
