"""Static data of a queue's flavors, shared by all assignments.

Resource groups by resource, flavor resources by flavor, and the flavors that each kind of pods matches.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from muster.admission.flavors.attempts import FlavorAttempt
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

KINDS_MAX = 10_000  # kinds of pods whose matching flavors are cached
NOT_ALLOWED = "is not one of those allowed for it"  # an annotation lists them


class FlavorGroup(NamedTuple):
    """A resource group: its flavors in order, each with its FlavorResources by resource."""

    position: int
    covered: frozenset[str]
    columns: tuple[tuple[str, Mapping[str, FlavorResource]], ...]


class QueueFlavors:
    """The flavors of one queue of a snapshot, prepared for assigners.

    A missing flavor matches no pods. `topologies` is called if pods need placement; None ignores
    topologies."""

    __slots__ = (
        "_flavors",
        "_groups",
        "_placer",
        "_places",
        "_refusals_by_kind",
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
        existing = [flavors[name] for name in names if name in flavors]
        self._topologies = topologies
        self._placer: Placer | None = None
        self._places = topologies is not None and any(flavor.topology for flavor in existing)
        self._tainted = len(existing) < len(names) or any(flavor.taints for flavor in existing)
        self._sized = any(flavor.node_sizes for flavor in existing)
        self._refusals_by_kind: dict[Hashable, tuple[FlavorAttempt | None, ...]] = {}

    def flavor(self, name: str) -> Flavor | None:
        """Returns the flavor; None if it does not exist."""
        return self._flavors.get(name)

    def allows(self, workload: Workload, flavor: str) -> bool:
        """Returns whether the workload may use the flavor: its annotation may exclude some (gate
        ConcurrentAdmission), and surplus uses the flavors of its gang."""
        allowed = workload.allowed_flavors
        applies = self.rules.concurrent_admission or workload.surplus_of
        return allowed is None or not applies or flavor in allowed

    def group_of(self, resource: str) -> FlavorGroup | None:
        """Returns the resource group that covers the resource, if any."""
        return self._groups.get(resource)

    @property
    def placer(self) -> Placer | None:
        """Returns the placer, created on first use, as most queues never need one; None if topologies are
        ignored."""
        if self._placer is None and self._topologies is not None:
            self._placer = Placer(self.queue, self._topologies())
        return self._placer

    def places_on(self, flavor: str) -> bool:
        """Returns whether pods with this flavor are placed on a topology."""
        return self.placer is not None and self.placer.places_on(flavor)

    def placer_of(self, workload: Workload) -> Placer | None:
        """Returns the placer for the workload; None if no pod set needs placement."""
        if self._places:
            return self.placer
        for pod_set in workload.pod_sets:
            if pod_set.topology is not None:
                return self.placer
        return None

    def refused(
        self, pod_set_group: PodSetGroup, group: FlavorGroup
    ) -> Sequence[FlavorAttempt | None] | None:
        """Returns the refusals of flavors that the pods cannot use, by position; None if they can use all."""
        refusals = None
        for demand in pod_set_group:
            of_pod_set = self._refusals(demand.pod_set, group)
            if refusals is None or of_pod_set is None:
                refusals = refusals or of_pod_set
            else:
                refusals = tuple(a or b for a, b in zip(refusals, of_pod_set, strict=True))
        return refusals

    def _refusals(self, pod_set: PodSet, group: FlavorGroup) -> tuple[FlavorAttempt | None, ...] | None:
        selects = pod_set.node_selector or pod_set.affinity
        if not (
            selects or self._tainted or self._sized or self._places or (pod_set.topology and self.placer)
        ):
            return None
        kind = group.position, self._kind(pod_set)
        refusals = self._refusals_by_kind.get(kind)
        if refusals is None:
            if len(self._refusals_by_kind) >= KINDS_MAX:
                self._refusals_by_kind.clear()
            refusals = tuple(self._refusal(pod_set, name, group) for name, _ in group.columns)
            self._refusals_by_kind[kind] = refusals
        return refusals

    def _kind(self, pod_set: PodSet) -> Hashable:
        """Returns a key that is equal only for pods that match the same flavors."""
        topology = (pod_set.topology, frozenset(pod_set.requests)) if self._topologies else None
        selector = frozenset(pod_set.node_selector.items())
        requests = frozenset(pod_set.requests_of_nodes.items()) if self._sized else None
        return selector, pod_set.affinity, pod_set.tolerations, topology, requests

    def _refusal(self, pod_set: PodSet, name: str, group: FlavorGroup) -> FlavorAttempt | None:
        reason = self._mismatch(pod_set, name, group)
        return None if reason is None else FlavorAttempt(name, NO_FIT, mismatch=reason)

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
            (quotas.flavor, {resource: FlavorResource(quotas.flavor, resource) for resource in group.covered})
            for quotas in group.flavors
        ),
    )


def _borrows_after_preemption(queue: ClusterQueue, rules: Rules) -> bool:
    """Returns whether the queue may preempt while borrowing (Kueue: canPreemptWhileBorrowing)."""
    if queue.borrow_within_cohort is not None:
        return True
    return rules.fair_sharing is not None and queue.reclaim_within_cohort is not PreemptionPolicy.NEVER
