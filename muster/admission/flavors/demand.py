"""Requests of a workload's pod sets, grouped by pod sets that take the same flavors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from muster.admission.model import Admission, PodSet, PodSetAssignment, Workload

PODS = "pods"


class Demand(NamedTuple):
    """The total requests of a pod set; they include `pods` if the queue has quota for it.

    `held` is its current assignment, `replaced` that of the slice that the workload replaces."""

    position: int
    pod_set: PodSet
    pods: int
    requests: Mapping[str, int]
    held: PodSetAssignment | None = None
    replaced: PodSetAssignment | None = None


PodSetGroup = Sequence[Demand]
"""Pod sets that take the same flavors; usually there is only one."""


def pod_set_groups(
    workload: Workload, counts: Sequence[int], replaced: Sequence[PodSetAssignment], counts_pods: bool
) -> Iterable[PodSetGroup]:
    """Returns the groups, in the order of their first pod sets. `counts`, if not empty, are the pods of each
    pod set."""
    held = still_held(workload, workload.admission)
    groups: dict[int | str, list[Demand]] = {}
    for position, pod_set in enumerate(workload.pod_sets):
        current = held[position] if position < len(held) else None
        pods = pod_set.count - pod_set.reclaimable if current is None else current.count
        if current is None and counts and pods:
            pods = counts[position]
        requests = requests_of(pod_set, pods) if current is None else dict(current.usage)
        if counts_pods:
            requests[PODS] = pods
        previous = replaced[position] if position < len(replaced) else None
        key = position if pod_set.topology is None else pod_set.topology.group or position
        groups.setdefault(key, []).append(Demand(position, pod_set, pods, requests, current, previous))
    return groups.values()


def requests_of(pod_set: PodSet, count: int) -> dict[str, int]:
    """Returns the requests of `count` pods."""
    return {resource: amount * count for resource, amount in pod_set.requests.items()}


def total(pod_set_group: PodSetGroup) -> Mapping[str, int]:
    """Returns the requests of a group, minus the usage of the slices that it replaces."""
    if len(pod_set_group) == 1 and pod_set_group[0].replaced is None:
        return pod_set_group[0].requests
    requests: dict[str, int] = {}
    for demand in pod_set_group:
        for resource in demand.requests:
            requests[resource] = requests.get(resource, 0) + added(demand, resource)
    return requests


@lru_cache(maxsize=4096)
def rank(resource: str) -> int:
    """Returns the position of a resource in the search order; messages name the first one without a flavor.

    It is the FNV-1a hash of the name, as in Kueue's pkg/resources/slice_requests.go.
    """
    fnv1a = 0xCBF29CE484222325
    for byte in resource.encode():
        fnv1a = (fnv1a ^ byte) * 0x100000001B3 % 2**64
    return fnv1a


def added(demand: Demand, resource: str) -> int:
    """Returns the request of a resource, minus the usage of the slice that the pod set replaces."""
    amount = demand.requests.get(resource, 0)
    return amount if demand.replaced is None else amount - demand.replaced.usage.get(resource, 0)


def still_held(workload: Workload, admission: Admission | None) -> Sequence[PodSetAssignment]:
    """Returns the assignments of an admission, minus the usage of finished pods.

    Kueue: totalRequestsFromAdmission in pkg/workload.
    """
    if admission is None:
        return ()
    pods = {pod_set.name: pod_set.count - pod_set.reclaimable for pod_set in workload.pod_sets}
    return [_shrunk(held, pods.get(held.name, held.count)) for held in admission.pod_sets]


def _shrunk(held: PodSetAssignment, pods: int) -> PodSetAssignment:
    # After a partial admission, fewer pods than the pod set's count hold quota.
    if pods >= held.count:
        return held
    usage = {resource: amount // held.count * pods for resource, amount in held.usage.items()}
    return replace(held, count=pods, usage=usage)
