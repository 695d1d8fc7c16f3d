"""Workload slices of elastic jobs: pods of the slice that is replaced stay where they are, only those that
come on top are placed.

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
    """None: there is nothing to build on, all pods are placed. Placed pods are assumed."""
    before = workers.previous
    leaders_before = leader.previous if leader else None
    known = [assignment for assignment in (before, leaders_before) if assignment is not None]
    if before is None or any(flavor.tree.stale(assignment) for assignment in known):
        return None
    more = workers.count - sum(domain.count for domain in before.domains)
    if more > 0:
        return _grow(flavor, replace(workers, count=more), before, leader, assume, empty)
    kept = {workers.pod_set.name: _first(before, workers.count)}
    if leader is not None:
        if leaders_before is None:
            return None
        kept[leader.pod_set.name] = leaders_before
        assume(leader, leaders_before)
    assume(workers, kept[workers.pod_set.name])
    return kept


def _grow(
    flavor: FlavorTopology,
    added: PlacementRequest,
    before: TopologyAssignment,
    leader: PlacementRequest | None,
    assume: Assume,
    empty: bool,
) -> dict[str, TopologyAssignment] | PlacementRefusal:
    """A leader that already runs stays as well."""
    assume(added, before)
    kept: dict[str, TopologyAssignment] = {}
    if leader is not None and leader.previous is not None:
        kept[leader.pod_set.name] = leader.previous
        assume(leader, leader.previous)
    found = flavor.place(added, None if kept else leader, empty)
    if isinstance(found, PlacementRefusal):
        return found
    for request in (added, leader):
        if request is not None and request.pod_set.name in found:
            assume(request, found[request.pod_set.name])
    name = added.pod_set.name
    return {**found, **kept, name: flavor.tree.merged(found[name], before)}


def _first(assignment: TopologyAssignment, pods: int) -> TopologyAssignment:
    """The last pods go first."""
    kept: list[TopologyDomain] = []
    for domain in assignment.domains:
        if pods > 0:
            kept.append(TopologyDomain(domain.values, min(domain.count, pods)))
            pods -= domain.count
    return replace(assignment, domains=tuple(kept))
