"""Flavors with a topology: which pod sets may take one, and whether their pods find places on it.

Quota comes first: only when every pod set has its flavors are the pods placed, all sets together.
Kueue: pkg/scheduler/flavorassigner/tas_flavorassigner.go, and the end of assignFlavors.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.fungibility import Mode
from muster.admission.model import (
    Admission,
    CheckState,
    ClusterQueue,
    PodSet,
    TopologyAssignment,
    TopologyDomain,
    Workload,
)
from muster.admission.topology import PlacementRequest, Topologies, TopologyUsage

Requests = Mapping[str, Sequence[PlacementRequest]]
"""Requests for placement, by flavor."""


class Placer:
    """Places the pods of the workloads of one queue."""

    __slots__ = ("_delaying", "_only_topologies", "_topologies")

    def __init__(self, queue: ClusterQueue, topologies: Topologies) -> None:
        named = {quotas.flavor for group in queue.groups for quotas in group.flavors}
        self._topologies = topologies
        self._only_topologies = bool(named) and all(name in topologies for name in named)
        self._delaying = {
            name for check in queue.checks if check.provisions for name in (check.flavors or named)
        }

    def asks(self, pod_set: PodSet) -> bool:
        """Whether its pods are to be placed: it says so, or its queue has no flavor where they are not."""
        return self._only_topologies or _explicit(pod_set)

    def places_on(self, flavor: str) -> bool:
        """Whether pods with this flavor are placed on its topology."""
        return flavor in self._topologies

    def mismatch(self, pod_set: PodSet, flavor: str, covered: Collection[str]) -> str | None:
        """Why the pods may not take a flavor for the `covered` resources, as the end of a sentence about
        the flavor; None if they may. Only the pod set's topology and the names of its resources decide.

        Kueue: checkPodSetAndFlavorMatchForTAS.
        """
        known = flavor in self._topologies
        if not _explicit(pod_set):
            if known and not self._only_topologies:
                return "has a topology, and is for pods that ask for one"
            return None
        if not known:
            # What no pod asks for, and is only made up for the quota, may come from such a flavor.
            return None if pod_set.requests.keys().isdisjoint(covered) else "has no topology"
        if not self._topologies.has_levels(flavor, pod_set.topology):
            return "has a topology without a level that is asked for"
        return None

    def settle(self, workload: Workload, assignment: Assignment, empty: bool = False) -> None:
        """Places the pods of an assignment that has flavors for all of them, or makes its mode worse.

        Where they would find places on empty nodes, preemption may help. `empty`: the nodes are taken for
        empty.
        """
        requests = self.requests(workload, assignment)
        if assignment.mode is Mode.FIT and requests and self._place(workload, assignment, requests, empty):
            assignment.placed = self.placed(workload, assignment)
            return
        if not requests or assignment.mode in (Mode.FIT, Mode.NO_FIT) or workload.unhealthy_nodes:
            return
        refusal = self._topologies.place(requests, empty=True).refusal
        of_requests = [request.pod_set.name for of_flavor in requests.values() for request in of_flavor]
        for choice in assignment.pod_sets:
            if refusal is not None and choice.name in refusal.pod_sets:
                choice.misplaced = refusal.message
                assignment.worsen(choice, Mode.NO_FIT)
            elif refusal is None and choice.name in of_requests:
                assignment.worsen(choice, Mode.PREEMPT)

    def search(self, workload: Workload, assignment: Assignment) -> Callable[[], bool] | None:
        """Tells, whenever it is called, whether the pods that have no places yet would find some; None if
        there are no such pods."""
        requests = self.requests(workload, assignment)
        if not requests:
            return None
        return lambda: self._topologies.place(requests, workload.unhealthy_nodes).refusal is None

    def reserve(self, workload: Workload, assignment: Assignment, targets: bool) -> None:
        """Where the pods of a preemptor will go, to be kept free for it.

        Called while its targets are released; without targets the nodes are taken for empty.
        Kueue: updateAssignmentForTAS in pkg/scheduler/scheduler.go.
        """
        requests = self.requests(workload, assignment)
        if not requests or workload.unhealthy_nodes:
            return
        found = self._topologies.place(requests, empty=not targets)
        if found.refusal is None:
            _set(assignment, found.assignments)
            assignment.placed = self.placed(workload, assignment)

    def requests(self, workload: Workload, assignment: Assignment) -> Requests:
        """The requests of an assignment for placement. Marks the pod sets that are to be placed later, and
        refuses those that have not exactly one flavor to be placed on."""
        requests: dict[str, list[PlacementRequest]] = {}
        choices = {choice.name: choice for choice in assignment.pod_sets}
        for pod_set in workload.pod_sets:
            if not self.asks(pod_set) or (choice := choices[pod_set.name]).count == 0:
                continue
            if choice.topology is not None and not hit(choice.topology, workload.unhealthy_nodes):
                continue
            flavors = sorted({name for name in choice.flavors.values() if name in self._topologies})
            if len(flavors) != 1:
                assignment.fail(choice, _ambiguous(flavors))
            elif workload.admission is None and flavors[0] in self._delaying:
                choice.topology_delayed = True
            else:
                request = PlacementRequest(
                    pod_set, choice.count, implied=not _explicit(pod_set), current=choice.topology
                )
                requests.setdefault(flavors[0], []).append(request)
        return requests

    def placed(self, workload: Workload, assignment: Assignment) -> tuple[TopologyUsage, ...]:
        """Pods of an assignment on the domains beyond those that the workload has there already."""
        before = {of.name: of.topology for of in workload.admission.pod_sets} if workload.admission else {}
        requests = {pod_set.name: pod_set.requests for pod_set in workload.pod_sets}
        return tuple(
            TopologyUsage(flavor, beyond(choice.topology, before.get(choice.name)), requests[choice.name])
            for choice in assignment.pod_sets
            if choice.topology is not None
            for flavor in sorted({name for name in choice.flavors.values() if name in self._topologies})
        )

    def _place(self, workload: Workload, assignment: Assignment, requests: Requests, empty: bool) -> bool:
        found = self._topologies.place(
            requests, workload.unhealthy_nodes, pinned=workload.pinned, empty=empty
        )
        if found.refusal is None:
            _set(assignment, found.assignments)
            return True
        for choice in assignment.pod_sets:
            if choice.name in found.refusal.pod_sets:
                choice.misplaced = found.refusal.message
                assignment.worsen(choice, Mode.PREEMPT)
        return False


def topology_usage(
    workload: Workload, admission: Admission, topologies: Topologies
) -> tuple[TopologyUsage, ...]:
    """Pods of an admission on the domains of each of its flavors (Kueue: Info.TASUsage)."""
    requests = {pod_set.name: pod_set.requests for pod_set in workload.pod_sets}
    return tuple(
        TopologyUsage(flavor, of.topology, requests.get(of.name, {}))
        for of in admission.pod_sets
        if of.topology is not None
        for flavor in sorted(set(of.flavors.values()))
        if flavor in topologies
    )


def needs_second_pass(workload: Workload) -> bool:
    """Whether a workload that holds quota is to be placed (again): its checks have made the nodes,
    or nodes of it have failed. Kueue: NeedsSecondPass in pkg/workload."""
    if workload.admission is None or workload.evicted:
        return False
    if _is_unplaced(workload.admission):
        return bool(workload.checks) and _is_ready(workload)
    return needs_replacement(workload)


def needs_replacement(workload: Workload) -> bool:
    """Whether it is admitted, and a node failed that pods of it are on."""
    if not workload.unhealthy_nodes or workload.admission is None:
        return False
    if _is_unplaced(workload.admission) or not _is_ready(workload):
        return False
    return any(
        of.topology is not None and hit(of.topology, workload.unhealthy_nodes)
        for of in workload.admission.pod_sets
    )


def _is_unplaced(admission: Admission) -> bool:
    return any(of.topology_delayed and of.topology is None for of in admission.pod_sets)


def _is_ready(workload: Workload) -> bool:
    return all(state is CheckState.READY for state in workload.checks.values())


def hit(assigned: TopologyAssignment, nodes: Collection[str]) -> bool:
    """Whether one of the nodes is among the lowest domains."""
    return any(domain.values[-1] in nodes for domain in assigned.domains)


def beyond(assigned: TopologyAssignment, before: TopologyAssignment | None) -> TopologyAssignment:
    """The pods that were not on their domains before. Those that leave a domain are not told."""
    if before is None:
        return assigned
    counts: dict[tuple[str, ...], int] = {}
    for domain in before.domains:
        counts[domain.values] = counts.get(domain.values, 0) + domain.count
    added = ((domain.values, domain.count - counts.get(domain.values, 0)) for domain in assigned.domains)
    return replace(
        assigned, domains=tuple(TopologyDomain(values, count) for values, count in added if count > 0)
    )


def _explicit(pod_set: PodSet) -> bool:
    """A group alone asks for no topology (Kueue: IsExplicitlyRequestingTAS)."""
    request = pod_set.topology
    return request is not None and bool(
        request.required or request.preferred or request.unconstrained or request.slices
    )


def _ambiguous(flavors: Sequence[str]) -> str:
    if flavors:
        return f"several flavors have a topology: {', '.join(flavors)}"
    return "no flavor that it got has a topology"


def _set(assignment: Assignment, topologies: Mapping[str, TopologyAssignment]) -> None:
    for choice in assignment.pod_sets:
        choice.topology = topologies.get(choice.name, choice.topology)
