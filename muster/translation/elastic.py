"""Elastic gangs: one Workload object is a gang of the minimum and surplus, one core workload a replica.

So the core admits growth, and preempts surplus, one replica at a time (`surplus_of` of its Workload). A
worker group grows by whole replicas: a replica of a multi-host group has several pods.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from muster import admission as core
from muster.translation import domains

REPLICAS_MAX = 99_999  # more than the pods of any Workload
GROWTH_MAX = 64
"""Replicas of a pod set that are considered at a time: the job chooses how many it asks for."""
_SEPARATOR = "+"  # in no name of Kubernetes


@dataclass(frozen=True, slots=True)
class ElasticPodSet:
    """A pod set that may change its size; all numbers count pods.

    `replica` is the size of a replica, and divides `minimum`. `asked` is what the job asks for now. `running`
    pods exist; those above the admitted count are about to terminate and still use quota. `placed` are
    the domains of running pods on a flavor with a topology."""

    minimum: int
    replica: int
    asked: int
    running: int = 0
    placed: core.TopologyAssignment | None = None


def gang_of(key: str) -> str:
    """Returns the key of the gang of a core workload, which may be its surplus."""
    return key.partition(_SEPARATOR)[0]


def is_surplus(key: str) -> bool:
    """Returns whether the key of a core workload is that of surplus."""
    return _SEPARATOR in key


def pod_set_of(surplus: str) -> str:
    """Returns the pod set of surplus, by its key."""
    return surplus.split(_SEPARATOR)[1]


def split(whole: core.Workload, elastic: Mapping[str, ElasticPodSet]) -> tuple[core.Workload, ...]:
    """Returns the gang, and its surplus: the replicas that hold quota, that terminate, and that the job asks
    for. The latter only while the gang holds quota."""
    held = {a.name: a for a in whole.admission.pod_sets} if whole.admission else {}
    gang = replace(
        whole,
        pod_sets=tuple(_reduced(p, elastic[p.name]) if p.name in elastic else p for p in whole.pod_sets),
        admission=_minimum(whole.admission, elastic),
    )
    surplus = [
        replica
        for pod_set in whole.pod_sets
        if pod_set.name in elastic and pod_set.name in held
        for replica in _surplus(whole, pod_set, elastic[pod_set.name], held[pod_set.name])
    ]
    return gang, *surplus


def at_granted_size(whole: core.Workload) -> core.Workload:
    """Returns the gang with the pods that hold quota, instead of its minimum; unchanged without quota."""
    if whole.admission is None:
        return whole
    counts = {assigned.name: assigned.count for assigned in whole.admission.pod_sets}
    return replace(
        whole,
        pod_sets=tuple(replace(pods, count=counts.get(pods.name, pods.count)) for pods in whole.pod_sets),
    )


def grown(admission: core.Admission, surplus: Iterable[core.Admission]) -> core.Admission:
    """Returns the admission of a whole gang with these replicas added."""
    pod_sets = {a.name: a for a in admission.pod_sets}
    for replica in surplus:
        for added in replica.pod_sets:
            pod_sets[added.name] = _sum(pod_sets[added.name], added)
    return replace(admission, pod_sets=tuple(pod_sets[a.name] for a in admission.pod_sets))


def next_replicas(gang: core.Workload, elastic: Mapping[str, ElasticPodSet]) -> Mapping[str, core.Workload]:
    """Returns a further replica of each pod set of a gang with quota, which the job does not ask for yet."""
    held = {a.name: a for a in gang.admission.pod_sets} if gang.admission else {}
    return {
        pod_set.name: replica
        for pod_set in gang.pod_sets
        if pod_set.name in elastic and pod_set.name in held
        for least, size in [(elastic[pod_set.name].minimum, elastic[pod_set.name].replica)]
        for replica in _surplus(gang, pod_set, ElasticPodSet(least, size, least + size), held[pod_set.name])
    }


def offers(
    gang: core.Workload,
    elastic: Mapping[str, ElasticPodSet],
    available: Callable[[core.FlavorResource], int],
) -> dict[str, int]:
    """Returns the replicas of each pod set that fit into the available quota, at most REPLICAS_MAX."""
    held = {a.name: a for a in gang.admission.pod_sets} if gang.admission else {}
    return {
        pod_set.name: min(
            (
                available(core.FlavorResource(held[pod_set.name].flavors[resource], resource)) // amount
                for resource, amount in usage.items()
                if amount
            ),
            default=REPLICAS_MAX,
        )
        for pod_set in gang.pod_sets
        if pod_set.name in elastic and pod_set.name in held
        for usage in [_usage(pod_set, held[pod_set.name], elastic[pod_set.name].replica)]
    }


def resized(admission: core.Admission, counts: Mapping[str, int]) -> core.Admission:
    """Returns the admission with these numbers of pods, which are not larger than its own."""
    return replace(
        admission,
        pod_sets=tuple(_resized(a, counts.get(a.name, a.count)) for a in admission.pod_sets),
    )


def aligned(admission: core.Admission, elastic: Mapping[str, ElasticPodSet]) -> core.Admission:
    """Returns the admission with the domains of the pods that run."""
    return replace(
        admission,
        pod_sets=tuple(
            replace(held, topology=domains.aligned(held.topology, elastic[held.name].placed))
            if held.name in elastic
            else held
            for held in admission.pod_sets
        ),
    )


def _surplus(
    whole: core.Workload, pod_set: core.PodSet, elastic: ElasticPodSet, held: core.PodSetAssignment
) -> Iterator[core.Workload]:
    assert whole.admission is not None
    size = elastic.replica
    granted = max(0, held.count - elastic.minimum) // size
    terminating = -(-max(0, elastic.running - max(held.count, elastic.minimum)) // size)
    asked = 0 if whole.evicted else max(0, elastic.asked - max(held.count, elastic.minimum)) // size
    asked = min(asked, REPLICAS_MAX - granted - terminating)  # the job chooses it
    others = held.topology or elastic.placed  # pods that terminate may be granted quota again
    if others is None and pod_set.topology is not None and pod_set.topology.required:
        asked = min(asked, 1)  # it chooses the domain of the others
    if others is not None and terminating:
        asked = 0  # these pods would be granted quota again, and keep nodes for which their preemptor waits
    assignment = replace(held, count=size, usage=_usage(pod_set, held, size))
    pods = replace(
        _as_granted(pod_set, held), count=size, count_min=None, reclaimable=0, topology=_near(pod_set, others)
    )
    placed = _placements(held, elastic, granted, terminating)
    for number in range(1, granted + terminating + asked + 1):
        holds = number <= granted + terminating
        yield core.Workload(
            key=_SEPARATOR.join((whole.key, pod_set.name, str(number))),
            # The last replica is preempted first: holdings of equal age are ordered by UID.
            uid=_SEPARATOR.join((whole.uid, pod_set.name, f"{REPLICAS_MAX - number:05}")),
            cluster_queue=whole.cluster_queue,
            priority=whole.priority,
            queued_at_ms=whole.queued_at_ms,
            pod_sets=(pods,),
            admission=core.Admission(
                whole.admission.cluster_queue, (replace(assignment, topology=placed[number - 1]),)
            )
            if holds
            else None,
            reserved_at_ms=whole.reserved_at_ms if holds else 0,
            evicted=whole.evicted or granted < number <= granted + terminating,
            # Growth is tried together with the workloads that wait, never before them.
            parked=not holds,
            local_queue=whole.local_queue,
            allowed_flavors=tuple(sorted(set(held.flavors.values()))) or None,
            run_time_ms=whole.run_time_ms,
            surplus_of=whole.key,
            counts_from_ms=whole.counts_from_ms if holds else 0,
            refused="" if held.count else whole.refused,
        )


def _as_granted(pod_set: core.PodSet, held: core.PodSetAssignment) -> core.PodSet:
    """Returns the pod set with the requests of its pods that hold quota, even if devices or defaults of
    LimitRanges would be counted differently now."""
    granted = _resized(held, 1).usage if held.count else pod_set.requests
    if granted == pod_set.requests:
        return pod_set
    return replace(pod_set, requests=granted, node_requests=pod_set.requests_of_nodes)


def _near(pod_set: core.PodSet, others: core.TopologyAssignment | None) -> core.TopologyRequest | None:
    """Returns the topology request of further pods, which are placed near the other pods."""
    if pod_set.topology is None or others is None:
        return pod_set.topology
    return replace(pod_set.topology, near=tuple(domain.values for domain in others.domains))


def _placements(
    held: core.PodSetAssignment, elastic: ElasticPodSet, granted: int, terminating: int
) -> list[core.TopologyAssignment | None]:
    """Returns the domains of each replica that holds quota; the last ones terminate, and use the domains of
    running pods that are no longer assigned."""
    size, minimum = elastic.replica, elastic.minimum
    leaving = domains.beyond(elastic.placed, held.topology)
    return [
        *(domains.part(held.topology, minimum + number * size, size) for number in range(granted)),
        *(domains.part(leaving, number * size, size) for number in range(terminating)),
    ]


def _reduced(pod_set: core.PodSet, elastic: ElasticPodSet) -> core.PodSet:
    return replace(pod_set, count=elastic.minimum, count_min=None, reclaimable=0)


def _minimum(admission: core.Admission | None, elastic: Mapping[str, ElasticPodSet]) -> core.Admission | None:
    if admission is None:
        return None
    minimums = {
        a.name: min(a.count, elastic[a.name].minimum) for a in admission.pod_sets if a.name in elastic
    }
    return resized(admission, minimums)


def _resized(held: core.PodSetAssignment, count: int) -> core.PodSetAssignment:
    if count == held.count:
        return held
    usage = {resource: amount // held.count * count for resource, amount in held.usage.items()}
    return replace(held, count=count, usage=usage, topology=domains.part(held.topology, 0, count))


def _usage(pod_set: core.PodSet, held: core.PodSetAssignment, count: int) -> Mapping[str, int]:
    """Returns the usage of `count` pods: as of the pods that hold quota, or as requested if there are
    none."""
    if held.count:
        return _resized(held, count).usage
    return {resource: pod_set.requests.get(resource, 0) * count for resource in held.flavors}


def _sum(held: core.PodSetAssignment, added: core.PodSetAssignment) -> core.PodSetAssignment:
    resources = {**held.usage, **added.usage}
    usage = {r: held.usage.get(r, 0) + added.usage.get(r, 0) for r in resources}
    return replace(
        held,
        count=held.count + added.count,
        flavors={**added.flavors, **held.flavors},
        usage=usage,
        topology=domains.merged(held.topology, added.topology),
    )
