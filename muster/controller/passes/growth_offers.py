"""The replicas that autoscaled gangs may ask for: those that fit, and those that preempt other surplus.

Ray's autoscaler asks for no more than its limit, so a gang whose limit leaves no room would never claim the
quota that others have borrowed from it.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

from muster import admission as core
from muster.translation.elastic import GROWTH_MAX, ElasticPodSet, next_replicas, offers


class ElasticGang(NamedTuple):
    """An elastic gang with quota, at its minimum, and its elastic pod sets."""

    key: str
    gang: core.Workload
    elastic: Mapping[str, ElasticPodSet]


class _Grower(NamedTuple):
    """A pod set whose job has all workers that it may ask for: it may have work for more."""

    key: str
    replica: core.Workload

    @property
    def pod_set(self) -> str:
        return self.replica.pod_sets[0].name

    @property
    def alike(self) -> object:
        """Growers with an equal value may preempt the same workloads."""
        replica, (pods,) = self.replica, self.replica.pod_sets
        shape = pods.count, tuple(sorted(pods.requests.items())), pods.topology, replica.allowed_flavors
        return replica.cluster_queue, replica.priority, replica.local_queue, shape


def offered(
    engine: core.Engine, gangs: Iterable[ElasticGang], now_ms: int, *, placed: bool = False
) -> dict[str, dict[str, int]]:
    """Returns the replicas of each pod set, by gang, that would be admitted after the last decision if the
    job asked for them: into free quota, or by preempting surplus. `placed`: some pods need nodes of a
    topology as well."""
    available = cache(engine.available)  # many gangs share a queue
    result: dict[str, dict[str, int]] = {}
    growers: dict[object, list[_Grower]] = defaultdict(list)
    for key, gang, elastic in gangs:
        result[key] = offers(gang, elastic, partial(available, gang.cluster_queue))
        if placed:
            result[key] = _with_nodes(engine, gang, elastic, result[key], now_ms)
        for grower in _growers(key, gang, elastic, result[key]):
            growers[grower.alike].append(grower)
    for alike in growers.values():
        for grower, count in _shares(engine, alike, now_ms):
            result[grower.key][grower.pod_set] = count
    return result


def _with_nodes(
    engine: core.Engine,
    gang: core.Workload,
    elastic: Mapping[str, ElasticPodSet],
    free: Mapping[str, int],
    now_ms: int,
) -> dict[str, int]:
    """Returns the replicas that fit into free quota, without pod sets whose next replica lacks nodes of a
    topology."""
    replicas = next_replicas(gang, elastic)
    lacks = {name: engine.lacks(replicas[name], now_ms) for name, count in free.items() if count}
    unplaced = (core.WaitReason.TOPOLOGY, core.WaitReason.NEVER_FITS)
    full = {name for name, waiting in lacks.items() if waiting is not None and waiting.reason in unplaced}
    return {name: 0 if name in full else count for name, count in free.items()}


def _growers(
    key: str, gang: core.Workload, elastic: Mapping[str, ElasticPodSet], free: Mapping[str, int]
) -> Iterator[_Grower]:
    counts = {a.name: a.count for a in gang.admission.pod_sets} if gang.admission else {}
    hungry = {
        name: sizes
        for name, sizes in elastic.items()
        if name in counts and not free[name] and sizes.asked >= counts[name]
    }
    for replica in next_replicas(gang, hungry).values():
        yield _Grower(key, replica)


def _shares(engine: core.Engine, growers: list[_Grower], now_ms: int) -> Iterator[tuple[_Grower, int]]:
    """Yields equal shares of the replicas that growers of one kind may preempt, as each of them may ask for
    all that it is offered; the gangs that have waited longest get the remainder."""
    total = _preemptible(engine, growers[0].replica, now_ms)
    ordered = sorted(growers, key=lambda grower: (grower.replica.queued_at_ms, grower.key))
    for place, grower in enumerate(ordered):
        count = total // len(ordered) + (place < total % len(ordered))
        if count:
            yield grower, count


def _preemptible(engine: core.Engine, replica: core.Workload, now_ms: int) -> int:
    """Returns the most replicas that preempt others together, up to GROWTH_MAX."""
    (pods,) = replica.pod_sets

    def fails(count: int) -> bool:
        several = replace(pods, count=count * pods.count)
        return not engine.preempts(replace(replica, pod_sets=(several,)), now_ms)

    if fails(1):  # mostly, so that this is tried first
        return 0
    return 1 + bisect_left(range(2, GROWTH_MAX + 1), True, key=fails)
