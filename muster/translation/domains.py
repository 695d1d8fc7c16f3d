"""Arithmetic with the domains of an elastic pod set: pods have the domains of its assignment in their order.

The minimum has the first ones, and each replica above it the next ones. None is an assignment of no pods.
"""

from collections.abc import Mapping
from dataclasses import replace

from muster.admission import TopologyAssignment, TopologyDomain

Values = tuple[str, ...]
"""The values by which an assignment identifies a domain."""


def part(assigned: TopologyAssignment | None, first: int, pods: int) -> TopologyAssignment | None:
    """Returns the domains of `pods` pods from the `first` one on, counted from 0."""
    if assigned is None:
        return None
    domains: list[TopologyDomain] = []
    for domain in assigned.domains:
        count = min(domain.count - first, pods) if first < domain.count else 0
        if count > 0:
            domains.append(TopologyDomain(domain.values, count))
            pods -= count
        first = max(0, first - domain.count)
    return replace(assigned, domains=tuple(domains)) if domains else None


def merged(
    assigned: TopologyAssignment | None, added: TopologyAssignment | None
) -> TopologyAssignment | None:
    """Returns the pods of both; new domains are the last."""
    if assigned is None or added is None:
        return assigned or added
    pods = _pods(assigned)
    for domain in added.domains:
        pods[domain.values] = pods.get(domain.values, 0) + domain.count
    return _with(assigned, pods)


def beyond(pods: TopologyAssignment | None, others: TopologyAssignment | None) -> TopologyAssignment | None:
    """Returns the pods of each domain that are more than those of another assignment."""
    if pods is None or others is None:
        return pods
    return _with(pods, _difference(_pods(pods), _pods(others)))


def aligned(
    assigned: TopologyAssignment | None, running: TopologyAssignment | None
) -> TopologyAssignment | None:
    """Returns an assignment of as many pods, with the domains of running pods first: Ray chooses the workers
    that it removes, so the others may run in any of the domains that the gang had."""
    if assigned is None or running is None or beyond(running, assigned) is None:
        return assigned
    had, run = _pods(assigned), _pods(running)
    used = {values: min(count, run.get(values, 0)) for values, count in had.items()}
    pods = dict.fromkeys(had, 0)  # keeps their order
    missing = sum(had.values())
    for source in (used, _difference(run, had), _difference(had, used)):
        for values, count in source.items():
            taken = max(0, min(count, missing))
            pods[values] = pods.get(values, 0) + taken
            missing -= taken
    return _with(assigned, pods)


def _pods(assigned: TopologyAssignment) -> dict[Values, int]:
    return {domain.values: domain.count for domain in assigned.domains}


def _difference(pods: Mapping[Values, int], minus: Mapping[Values, int]) -> dict[Values, int]:
    return {values: count - minus.get(values, 0) for values, count in pods.items()}


def _with(assigned: TopologyAssignment, pods: Mapping[Values, int]) -> TopologyAssignment | None:
    domains = tuple(TopologyDomain(values, count) for values, count in pods.items() if count > 0)
    return replace(assigned, domains=domains) if domains else None
