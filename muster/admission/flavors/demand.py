"""Requests of a workload's pod sets, and which of them take the same flavors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from muster.admission.model import Admission, PodSet, PodSetAssignment, Workload

PODS = "pods"


class Demand(NamedTuple):
    """The requests of all `pods` of a set together, with `pods` where the queue counts them.

    `held` is what the workload has already, `replaced` what the slice has that it takes the place of."""

    position: int
    pod_set: PodSet
    pods: int
    requests: Mapping[str, int]
    held: PodSetAssignment | None = None
    replaced: PodSetAssignment | None = None


PodSetGroup = Sequence[Demand]
"""Pod sets that take the same flavors, mostly a single one."""


def pod_set_groups(
    workload: Workload, counts: Sequence[int], replaced: Sequence[PodSetAssignment], counts_pods: bool
) -> Iterable[PodSetGroup]:
    """Pod sets that take the same flavors, in the order of their first ones. `counts` are pods of each pod
    set, if given."""
    held = still_held(workload, workload.admission)
    found: dict[int | str, list[Demand]] = {}
    for position, pod_set in enumerate(workload.pod_sets):
        has = held[position] if position < len(held) else None
        pods = pod_set.count - pod_set.reclaimable if has is None else has.count
        if has is None and counts and pods:
            pods = counts[position]
        requests = requests_of(pod_set, pods) if has is None else dict(has.usage)
        if counts_pods:
            requests[PODS] = pods
        had = replaced[position] if position < len(replaced) else None
        key = position if pod_set.topology is None else pod_set.topology.group or position
        found.setdefault(key, []).append(Demand(position, pod_set, pods, requests, has, had))
    return found.values()


def requests_of(pod_set: PodSet, count: int) -> dict[str, int]:
    return {resource: amount * count for resource, amount in pod_set.requests.items()}


def total(pod_set_group: PodSetGroup) -> Mapping[str, int]:
    """Requests of the pod sets, less the usage of the slices that they replace."""
    if len(pod_set_group) == 1 and pod_set_group[0].replaced is None:
        return pod_set_group[0].requests
    wanted: dict[str, int] = {}
    for demand in pod_set_group:
        for resource in demand.requests:
            wanted[resource] = wanted.get(resource, 0) + added(demand, resource)
    return wanted


@lru_cache(maxsize=4096)
def rank(resource: str) -> int:
    """The order in which resources are searched: of several without a flavor, messages name the first one.

    The FNV-1a hash of the name, as in Kueue's pkg/resources/slice_requests.go.
    """
    found = 0xCBF29CE484222325
    for byte in resource.encode():
        found = (found ^ byte) * 0x100000001B3 % 2**64
    return found


def added(demand: Demand, resource: str) -> int:
    """Its request of a resource, less the usage of the slice that it replaces."""
    amount = demand.requests.get(resource, 0)
    return amount if demand.replaced is None else amount - demand.replaced.usage.get(resource, 0)


def still_held(workload: Workload, admission: Admission | None) -> Sequence[PodSetAssignment]:
    """The assignments of an admission, pod set by pod set, less the usage of pods that are done.

    Kueue: totalRequestsFromAdmission in pkg/workload.
    """
    if admission is None:
        return ()
    pods = {pod_set.name: pod_set.count - pod_set.reclaimable for pod_set in workload.pod_sets}
    return [_shrunk(held, pods.get(held.name, held.count)) for held in admission.pod_sets]


def _shrunk(held: PodSetAssignment, pods: int) -> PodSetAssignment:
    """Fewer pods may have been admitted than there are in the set: there are no more of them now."""
    if pods >= held.count:
        return held
    usage = {resource: amount // held.count * pods for resource, amount in held.usage.items()}
    return replace(held, count=pods, usage=usage)
