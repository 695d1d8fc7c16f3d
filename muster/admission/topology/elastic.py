"""Workload slices of elastic jobs: existing pods keep their domains, and only additional pods are placed.

Source: Kueue's pkg/cache/scheduler/tas_elastic_workloads.go.
"""

from collections.abc import Callable
from dataclasses import replace

from muster.admission.model import TopologyAssignment, TopologyDomain
from muster.admission.topology.flavor import FlavorTopology
from muster.admission.topology.placements import PlacementRefusal
from muster.admission.topology.request import PlacementRequest

Assume = Callable[[PlacementRequest, TopologyAssignment], None]


def resize(
    flavor: FlavorTopology,
    workers: PlacementRequest,
    leader: PlacementRequest | None,
    assume: Assume,
    empty: bool,
) -> dict[str, TopologyAssignment] | PlacementRefusal | None:
    """Returns assignments that keep existing pods, and assumes their usage. None: there is no valid previous
    assignment, so the caller places all pods."""
    before = workers.previous
    leaders_before = leader.previous if leader else None
    previous = [assignment for assignment in (before, leaders_before) if assignment is not None]
    if before is None or any(flavor.tree.stale(assignment) for assignment in previous):
        return None
    added = workers.count - sum(domain.count for domain in before.domains)
    if added > 0:
        return _grow(flavor, replace(workers, count=added), before, leader, assume, empty)
    assignments = {workers.pod_set.name: _first_pods(before, workers.count)}
    if leader is not None:
        if leaders_before is None:
            return None
        assignments[leader.pod_set.name] = leaders_before
        assume(leader, leaders_before)
    assume(workers, assignments[workers.pod_set.name])
    return assignments


def _grow(
    flavor: FlavorTopology,
    added: PlacementRequest,
    before: TopologyAssignment,
    leader: PlacementRequest | None,
    assume: Assume,
    empty: bool,
) -> dict[str, TopologyAssignment] | PlacementRefusal:
    """Places the additional pods; a running leader keeps its domain."""
    assume(added, before)
    running_leader: dict[str, TopologyAssignment] = {}
    if leader is not None and leader.previous is not None:
        running_leader[leader.pod_set.name] = leader.previous
        assume(leader, leader.previous)
    placed = flavor.place(added, None if running_leader else leader, empty)
    if isinstance(placed, PlacementRefusal):
        return placed
    for request in (added, leader):
        if request is not None and request.pod_set.name in placed:
            assume(request, placed[request.pod_set.name])
    name = added.pod_set.name
    return {**placed, **running_leader, name: flavor.tree.merged(placed[name], before)}


def _first_pods(assignment: TopologyAssignment, pods: int) -> TopologyAssignment:
    """Returns the first pods of an assignment: a shrinking job drops pods from the last domains."""
    domains: list[TopologyDomain] = []
    for domain in assignment.domains:
        if pods > 0:
            domains.append(TopologyDomain(domain.values, min(domain.count, pods)))
            pods -= domain.count
    return replace(assignment, domains=tuple(domains))
