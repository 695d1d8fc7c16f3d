"""Balanced placement: few domains, and pods spread evenly over them.

The threshold is the largest number of slices that every chosen domain can get at least. It is looked
for among domains that share a parent, and what holds less than it is left aside.
Source: KEP-2724 (balanced placement), Kueue's pkg/cache/scheduler/tas_balanced_placement.go.
"""

from collections.abc import Callable, Sequence
from math import fsum, log2
from operator import itemgetter
from typing import NamedTuple

from muster.admission.topology.domain_capacity import CapacityKey, DomainCapacities, DomainCapacity
from muster.admission.topology.order import Profile
from muster.admission.topology.request import LevelRequest
from muster.admission.topology.spread import DomainPods


class _Walk(NamedTuple):
    """How a greedy placement goes: over how many domains, and the last of them."""

    domains: int
    last_with_leader: DomainCapacity | None
    last: DomainCapacity | None


class _Candidates(NamedTuple):
    """Sibling domains, without what can't reach the threshold."""

    threshold: int
    domains: int  # that a greedy placement takes of them
    capacities: list[DomainCapacity]


def balance(capacities: DomainCapacities, request: LevelRequest, profile: Profile) -> list[DomainPods] | None:
    """Shares of domains at the level that is asked for, or of the level below where the slices are
    further down. None: no balanced placement, BestFit has to do."""
    best: _Candidates | None = None
    for siblings in _families(capacities, request.level):
        found = _candidates(siblings, capacities.key, request, best.threshold if best else 1, profile)
        if found and (best is None or _better(found, best)):
            best = found
    if best is None:
        return None
    chosen = best.capacities
    if request.level < request.slice_level:
        parents = _fewest(chosen, request, profile, evenest_first=True)
        if parents is None:
            return None
        chosen = [child for capacity in parents for child in capacity.children]
    chosen_few = _fewest(chosen, request, profile, evenest_first=False)
    return _even(chosen_few, request, best.threshold, profile) if chosen_few else None


def _families(capacities: DomainCapacities, level: int) -> list[list[DomainCapacity]]:
    """Domains of this level by their parent."""
    return (
        [capacities.levels[0]] if level == 0 else [parent.children for parent in capacities.levels[level - 1]]
    )


def _candidates(
    siblings: list[DomainCapacity], key: CapacityKey, request: LevelRequest, floor: int, profile: Profile
) -> _Candidates | None:
    """Candidates of these, if they hold all and every domain can get `floor` slices."""
    below = [child for capacity in siblings for child in capacity.children]
    walk = _walk(below if request.level < request.slice_level else siblings, request, profile)
    if walk is None:
        return None
    for threshold in _thresholds(walk, request):
        if threshold < floor:
            return None
        kept = _pruned(siblings, threshold, key)
        after = _walk(kept, request, profile)
        if after is not None:
            return _Candidates(threshold, after.domains, kept)
    return None


def _better(one: _Candidates, other: _Candidates) -> bool:
    return (-one.threshold, one.domains) < (-other.threshold, other.domains)


def _walk(capacities: Sequence[DomainCapacity], request: LevelRequest, profile: Profile) -> _Walk | None:
    """Walks the domains greedily; None if they do not hold all."""
    left = request.slice_count
    host: DomainCapacity | None = None
    last: DomainCapacity | None = None
    domains = 0
    if request.leaders:
        capacities = profile.by_capacity_with_leader(capacities)
        if not capacities[0].leaders:
            return None
        host, *capacities = capacities
        domains, left = 1, left - host.slices_with_leader
    for capacity in profile.by_capacity(capacities):
        if left <= 0 or not capacity.slices:
            break
        domains, left, last = domains + 1, left - capacity.slices, capacity
    return _Walk(domains, host, last) if domains and left <= 0 else None


def _thresholds(walk: _Walk, request: LevelRequest) -> list[int]:
    """The highest, and one at which the last domain could host the leader too."""
    threshold = request.slice_count // walk.domains
    if walk.last_with_leader is not None:
        threshold = min(threshold, walk.last_with_leader.slices_with_leader)
    if walk.last is None:
        return [threshold]
    threshold = min(threshold, walk.last.slices)
    if not request.leaders or walk.last.slices_with_leader >= threshold:
        return [threshold]
    return [threshold, walk.last.slices_with_leader]


def _pruned(siblings: Sequence[DomainCapacity], threshold: int, key: CapacityKey) -> list[DomainCapacity]:
    """Copies in which domains and their children that hold less than the threshold hold nothing."""
    copies = [capacity.clone() for capacity in siblings]
    for capacity in copies:
        for child in capacity.children:
            _prune(child, threshold)
        _sum_up(capacity, key)
        _prune(capacity, threshold)
    return copies


def _prune(capacity: DomainCapacity, threshold: int) -> None:
    if capacity.slices < threshold:
        _each(capacity, DomainCapacity.clear)
    elif capacity.leaders and capacity.slices_with_leader < threshold:
        _each(capacity, DomainCapacity.clear_leader)  # it can still take workers


def _each(capacity: DomainCapacity, change: Callable[[DomainCapacity], None]) -> None:
    change(capacity)
    for child in capacity.children:
        _each(child, change)


def _sum_up(capacity: DomainCapacity, key: CapacityKey) -> None:
    for child in capacity.children:
        _sum_up(child, key)
    if capacity.children:
        capacity.sum_up(key)


def _fewest(
    capacities: Sequence[DomainCapacity], request: LevelRequest, profile: Profile, evenest_first: bool
) -> tuple[DomainCapacity, ...] | None:
    """Picks as many of these as a greedy placement takes, that together hold all and least beyond it: the
    first such choice in the order of their values, or of how evenly their children hold pods."""
    walk = _walk(capacities, request, profile)
    if walk is None:
        return None
    ordered = sorted(capacities, key=_evenness if evenest_first else _rank)
    # by number of domains chosen: leaders and pods that are left to place, with the choice
    states: list[dict[tuple[int, int], tuple[DomainCapacity, ...]]] = [{} for _ in range(walk.domains + 1)]
    states[0][request.leaders, request.slice_count * request.slice_size] = ()
    for capacity in ordered:
        for chosen in range(walk.domains, 0, -1):
            for (leaders, pods), choice in sorted(states[chosen - 1].items(), key=itemgetter(0)):
                if leaders <= 0 and pods <= 0:
                    continue
                if leaders > 0 and capacity.leaders:
                    left = leaders - capacity.leaders, pods - capacity.pods_with_leader
                    states[chosen].setdefault(left, (*choice, capacity))
                if capacity.slices:
                    states[chosen].setdefault((leaders, pods - capacity.pods), (*choice, capacity))
    full = [(pods, choice) for (leaders, pods), choice in states[-1].items() if leaders == 0 and pods <= 0]
    return max(full, key=itemgetter(0))[1] if full else None


def _rank(capacity: DomainCapacity) -> int:
    return capacity.rank


def _evenness(capacity: DomainCapacity) -> tuple[int, int, float, int]:
    """The order by the entropy of the children's pods: only ever compared, and summed without rounding, so
    that equal sets of children are equal in any order."""
    total = sum(child.pods for child in capacity.children)
    parts = [child.pods / total for child in capacity.children if child.pods]
    entropy = -fsum(part * log2(part) for part in parts)
    return (-capacity.leaders, -capacity.slices_with_leader, -entropy, capacity.rank)


def _even(
    capacities: Sequence[DomainCapacity], request: LevelRequest, threshold: int, profile: Profile
) -> list[DomainPods] | None:
    """The threshold for each, and what is left over to the roomiest."""
    extra = request.slice_count - len(capacities) * threshold
    if extra < 0:
        return None
    leaders = request.leaders
    shares: list[DomainPods] = []
    for capacity in profile.by_capacity_with_leader(capacities):
        holds = capacity.slices_with_leader if leaders else capacity.slices
        more = min(holds - threshold, extra)
        shares.append(DomainPods(capacity, (threshold + more) * request.slice_size, leaders))
        leaders, extra = 0, extra - more
    return shares if extra == 0 else None
