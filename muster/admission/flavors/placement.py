"""Flavors with a topology: which pod sets match them, and the placement of pods on them.

Pods are placed after quota is checked: when all pod sets have flavors, all are placed together.
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
"""Placement requests by flavor."""


class Placer:
    """Places the pods of the workloads of one queue."""

    __slots__ = ("_delaying", "_only_topologies", "_topologies")

    def __init__(self, queue: ClusterQueue, topologies: Topologies) -> None:
        flavors = {quotas.flavor for group in queue.groups for quotas in group.flavors}
        self._topologies = topologies
        self._only_topologies = bool(flavors) and all(name in topologies for name in flavors)
        self._delaying = {
            name for check in queue.checks if check.provisions for name in (check.flavors or flavors)
        }

    def needs_placement(self, pod_set: PodSet) -> bool:
        """Returns whether the pod set requests a topology, or its queue has only flavors with one."""
        return self._only_topologies or _explicit(pod_set)

    def places_on(self, flavor: str) -> bool:
        """Returns whether pods with this flavor are placed on a topology."""
        return flavor in self._topologies

    def mismatch(self, pod_set: PodSet, flavor: str, covered: Collection[str]) -> str | None:
        """Returns why the pods cannot use a flavor for the `covered` resources, as a predicate of the flavor;
        None if they can. It depends only on the pod set's topology request and the names of its resources.

        Kueue: checkPodSetAndFlavorMatchForTAS.
        """
        has_topology = flavor in self._topologies
        if not _explicit(pod_set):
            if has_topology and not self._only_topologies:
                return "has a topology, and is for pods that request one"
            return None
        if not has_topology:
            # Resources that exist for the quota alone, and that no pod requests, need no topology.
            return None if pod_set.requests.keys().isdisjoint(covered) else "has no topology"
        if not self._topologies.has_levels(flavor, pod_set.topology):
            return "has a topology without a requested level"
        return None

    def place(self, workload: Workload, assignment: Assignment, empty: bool = False) -> None:
        """Places the pods of a complete assignment, or lowers its mode.

        If they fit only on empty nodes, the mode is PREEMPT. `empty` ignores the usage of nodes.
        """
        requests = self.requests(workload, assignment)
        if assignment.mode is Mode.FIT and requests and self._place(workload, assignment, requests, empty):
            assignment.placed = self.placed(workload, assignment)
            return
        if not requests or assignment.mode in (Mode.FIT, Mode.NO_FIT) or workload.unhealthy_nodes:
            return
        refusal = self._topologies.place(requests, empty=True).refusal
        requested = [request.pod_set.name for of_flavor in requests.values() for request in of_flavor]
        for choice in assignment.pod_sets:
            if refusal is not None and choice.name in refusal.pod_sets:
                choice.misplaced = refusal.message
                assignment.worsen(choice, Mode.NO_FIT)
            elif refusal is None and choice.name in requested:
                assignment.worsen(choice, Mode.PREEMPT)

    def search(self, workload: Workload, assignment: Assignment) -> Callable[[], bool] | None:
        """Returns a function that returns whether the unplaced pods fit at the time of the call; None if
        there are no unplaced pods."""
        requests = self.requests(workload, assignment)
        if not requests:
            return None
        return lambda: self._topologies.place(requests, workload.unhealthy_nodes).refusal is None

    def reserve(self, workload: Workload, assignment: Assignment, targets: bool) -> None:
        """Places the pods of a preemptor, so that their domains can be reserved for it.

        Called while its targets are released; without targets the usage of nodes is ignored.
        Kueue: updateAssignmentForTAS in pkg/scheduler/scheduler.go.
        """
        requests = self.requests(workload, assignment)
        if not requests or workload.unhealthy_nodes:
            return
        placements = self._topologies.place(requests, empty=not targets)
        if placements.refusal is None:
            _set(assignment, placements.assignments)
            assignment.placed = self.placed(workload, assignment)

    def requests(self, workload: Workload, assignment: Assignment) -> Requests:
        """Returns the placement requests of an assignment. Marks pod sets that are placed later, and fails
        pod sets without exactly one flavor that has a topology."""
        requests: dict[str, list[PlacementRequest]] = {}
        choices = {choice.name: choice for choice in assignment.pod_sets}
        for pod_set in workload.pod_sets:
            if not self.needs_placement(pod_set) or (choice := choices[pod_set.name]).count == 0:
                continue
            if choice.topology is not None and not uses_any(choice.topology, workload.unhealthy_nodes):
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
        """Returns the topology usage that an assignment adds to that of the workload's admission."""
        admitted = workload.admission.pod_sets if workload.admission else ()
        before = {pod_set.name: pod_set.topology for pod_set in admitted}
        requests = {pod_set.name: pod_set.requests_of_nodes for pod_set in workload.pod_sets}
        return tuple(
            TopologyUsage(flavor, added_pods(choice.topology, before.get(choice.name)), requests[choice.name])
            for choice in assignment.pod_sets
            if choice.topology is not None
            for flavor in sorted({name for name in choice.flavors.values() if name in self._topologies})
        )

    def _place(self, workload: Workload, assignment: Assignment, requests: Requests, empty: bool) -> bool:
        placements = self._topologies.place(
            requests, workload.unhealthy_nodes, pinned=workload.pinned, empty=empty
        )
        if placements.refusal is None:
            _set(assignment, placements.assignments)
            return True
        for choice in assignment.pod_sets:
            if choice.name in placements.refusal.pod_sets:
                choice.misplaced = placements.refusal.message
                assignment.worsen(choice, Mode.PREEMPT)
        return False


def topology_usage(
    workload: Workload, admission: Admission, topologies: Topologies
) -> tuple[TopologyUsage, ...]:
    """Returns the topology usage of an admission for each of its flavors (Kueue: Info.TASUsage)."""
    requests = {pod_set.name: pod_set.requests_of_nodes for pod_set in workload.pod_sets}
    return tuple(
        TopologyUsage(flavor, pod_set.topology, requests.get(pod_set.name, {}))
        for pod_set in admission.pod_sets
        if pod_set.topology is not None
        for flavor in sorted(set(pod_set.flavors.values()))
        if flavor in topologies
    )


def needs_second_pass(workload: Workload) -> bool:
    """Returns whether a workload that holds quota needs placement: its checks have created the nodes, or one
    of its nodes has failed. Kueue: NeedsSecondPass in pkg/workload."""
    if workload.admission is None or workload.evicted:
        return False
    if _is_unplaced(workload.admission):
        return bool(workload.checks) and _is_ready(workload)
    return needs_replacement(workload)


def needs_replacement(workload: Workload) -> bool:
    """Returns whether the workload is admitted and has pods on a failed node."""
    if not workload.unhealthy_nodes or workload.admission is None:
        return False
    if _is_unplaced(workload.admission) or not _is_ready(workload):
        return False
    return any(
        pod_set.topology is not None and uses_any(pod_set.topology, workload.unhealthy_nodes)
        for pod_set in workload.admission.pod_sets
    )


def _is_unplaced(admission: Admission) -> bool:
    return any(pod_set.topology_delayed and pod_set.topology is None for pod_set in admission.pod_sets)


def _is_ready(workload: Workload) -> bool:
    return all(state is CheckState.READY for state in workload.checks.values())


def uses_any(assigned: TopologyAssignment, nodes: Collection[str]) -> bool:
    """Returns whether one of the nodes is among the lowest domains."""
    return any(domain.values[-1] in nodes for domain in assigned.domains)


def added_pods(assigned: TopologyAssignment, before: TopologyAssignment | None) -> TopologyAssignment:
    """Returns the pods that an assignment adds to domains; pods that leave a domain are ignored."""
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
    """Returns whether a topology is requested; a group alone does not (Kueue: IsExplicitlyRequestingTAS)."""
    request = pod_set.topology
    return request is not None and bool(
        request.required or request.preferred or request.unconstrained or request.slices
    )


def _ambiguous(flavors: Sequence[str]) -> str:
    if flavors:
        return f"several flavors have a topology: {', '.join(flavors)}"
    return "no assigned flavor has a topology"


def _set(assignment: Assignment, topologies: Mapping[str, TopologyAssignment]) -> None:
    for choice in assignment.pod_sets:
        choice.topology = topologies.get(choice.name, choice.topology)
