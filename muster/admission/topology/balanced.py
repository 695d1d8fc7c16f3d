"""Balanced placement: spreads pods evenly over few domains.

The threshold is the largest number of slices that every selected domain can hold. Each set of sibling
domains is tried, without the domains that hold fewer slices than the threshold.
Source: KEP-2724 (balanced placement), Kueue's pkg/cache/scheduler/tas_balanced_placement.go.
"""

from collections.abc import Callable, Sequence
from math import fsum, log2
from operator import itemgetter
from typing import NamedTuple

from muster.admission.topology.domain_capacity import CapacityKey, DomainCapacities, DomainCapacity
from muster.admission.topology.request import LevelRequest
from muster.admission.topology.search import PlacementProfile
from muster.admission.topology.spread import DomainPods


class _GreedyPlacement(NamedTuple):
    """The number of domains that a greedy placement uses, and the last ones."""

    domains: int
    last_with_leader: DomainCapacity | None
    last: DomainCapacity | None


class _Candidates(NamedTuple):
    """Sibling domains that reach the threshold."""

    threshold: int
    domains: int  # number that a greedy placement uses
    capacities: list[DomainCapacity]


def balance(
    capacities: DomainCapacities, request: LevelRequest, profile: PlacementProfile
) -> list[DomainPods] | None:
    """Returns the pods of domains at the requested level, or one level below if the slice level is lower.
    None: there is no balanced placement, and the caller uses BestFit."""
    best: _Candidates | None = None
    for siblings in _siblings(capacities, request.level):
        candidates = _candidates(siblings, capacities.key, request, best.threshold if best else 1, profile)
        if candidates and (best is None or _is_better(candidates, best)):
            best = candidates
    if best is None:
        return None
    chosen = best.capacities
    if request.level < request.slice_level:
        parents = _select_fewest(chosen, request, profile, evenest_first=True)
        if parents is None:
            return None
        chosen = [child for capacity in parents for child in capacity.children]
    fewest = _select_fewest(chosen, request, profile, evenest_first=False)
    return _spread_evenly(fewest, request, best.threshold, profile) if fewest else None


def _siblings(capacities: DomainCapacities, level: int) -> list[list[DomainCapacity]]:
    """Returns the domains of a level, grouped by parent."""
    return (
        [capacities.levels[0]] if level == 0 else [parent.children for parent in capacities.levels[level - 1]]
    )


def _candidates(
    siblings: list[DomainCapacity],
    key: CapacityKey,
    request: LevelRequest,
    floor: int,
    profile: PlacementProfile,
) -> _Candidates | None:
    """Returns the candidates among siblings that hold all pods, with a threshold of at least `floor`."""
    below = [child for capacity in siblings for child in capacity.children]
    greedy = _place_greedily(below if request.level < request.slice_level else siblings, request, profile)
    if greedy is None:
        return None
    for threshold in _thresholds(greedy, request):
        if threshold < floor:
            return None
        pruned = _prune(siblings, threshold, key)
        greedy = _place_greedily(pruned, request, profile)
        if greedy is not None:
            return _Candidates(threshold, greedy.domains, pruned)
    return None


def _is_better(candidates: _Candidates, other: _Candidates) -> bool:
    return (-candidates.threshold, candidates.domains) < (-other.threshold, other.domains)


def _place_greedily(
    capacities: Sequence[DomainCapacity], request: LevelRequest, profile: PlacementProfile
) -> _GreedyPlacement | None:
    """Fills domains greedily; returns None if they do not hold all pods."""
    remaining = request.slice_count
    host: DomainCapacity | None = None
    last: DomainCapacity | None = None
    domains = 0
    if request.leaders:
        capacities = profile.by_capacity_with_leader(capacities)
        if not capacities[0].leaders:
            return None
        host, *capacities = capacities
        domains, remaining = 1, remaining - host.slices_with_leader
    for capacity in profile.by_capacity(capacities):
        if remaining <= 0 or not capacity.slices:
            break
        domains, remaining, last = domains + 1, remaining - capacity.slices, capacity
    return _GreedyPlacement(domains, host, last) if domains and remaining <= 0 else None


def _thresholds(greedy: _GreedyPlacement, request: LevelRequest) -> list[int]:
    """Returns the highest threshold, and a lower one if the last domain could then host the leader, too."""
    threshold = request.slice_count // greedy.domains
    if greedy.last_with_leader is not None:
        threshold = min(threshold, greedy.last_with_leader.slices_with_leader)
    if greedy.last is None:
        return [threshold]
    threshold = min(threshold, greedy.last.slices)
    if not request.leaders or greedy.last.slices_with_leader >= threshold:
        return [threshold]
    return [threshold, greedy.last.slices_with_leader]


def _prune(siblings: Sequence[DomainCapacity], threshold: int, key: CapacityKey) -> list[DomainCapacity]:
    """Returns copies of siblings, in which domains and children below the threshold have no capacity."""
    copies = [capacity.clone() for capacity in siblings]
    for capacity in copies:
        for child in capacity.children:
            _clear_below(child, threshold)
        _sum_up(capacity, key)
        _clear_below(capacity, threshold)
    return copies


def _clear_below(capacity: DomainCapacity, threshold: int) -> None:
    if capacity.slices < threshold:
        _apply(capacity, DomainCapacity.clear)
    elif capacity.leaders and capacity.slices_with_leader < threshold:
        _apply(capacity, DomainCapacity.clear_leader)  # workers still fit


def _apply(capacity: DomainCapacity, change: Callable[[DomainCapacity], None]) -> None:
    change(capacity)
    for child in capacity.children:
        _apply(child, change)


def _sum_up(capacity: DomainCapacity, key: CapacityKey) -> None:
    for child in capacity.children:
        _sum_up(child, key)
    if capacity.children:
        capacity.sum_up(key)


def _select_fewest(
    capacities: Sequence[DomainCapacity],
    request: LevelRequest,
    profile: PlacementProfile,
    evenest_first: bool,
) -> tuple[DomainCapacity, ...] | None:
    """Selects as many domains as a greedy placement uses, which hold all pods with the least excess.

    Ties go to the first selection in the order of domain values, or of the evenness of their children."""
    greedy = _place_greedily(capacities, request, profile)
    if greedy is None:
        return None
    ordered = sorted(capacities, key=_evenness if evenest_first else _rank)
    # By number of selected domains: remaining leaders and pods, with the selection.
    states: list[dict[tuple[int, int], tuple[DomainCapacity, ...]]] = [{} for _ in range(greedy.domains + 1)]
    states[0][request.leaders, request.slice_count * request.slice_size] = ()
    for capacity in ordered:
        for chosen in range(greedy.domains, 0, -1):
            for (leaders, pods), choice in sorted(states[chosen - 1].items(), key=itemgetter(0)):
                if leaders <= 0 and pods <= 0:
                    continue
                if leaders > 0 and capacity.leaders:
                    remaining = leaders - capacity.leaders, pods - capacity.pods_with_leader
                    states[chosen].setdefault(remaining, (*choice, capacity))
                if capacity.slices:
                    states[chosen].setdefault((leaders, pods - capacity.pods), (*choice, capacity))
    complete = [
        (pods, choice) for (leaders, pods), choice in states[-1].items() if leaders == 0 and pods <= 0
    ]
    return max(complete, key=itemgetter(0))[1] if complete else None


def _rank(capacity: DomainCapacity) -> int:
    return capacity.rank


def _evenness(capacity: DomainCapacity) -> tuple[int, int, float, int]:
    """Returns a sort key by entropy of the children's pods. `fsum` makes it independent of their order."""
    total = sum(child.pods for child in capacity.children)
    parts = [child.pods / total for child in capacity.children if child.pods]
    entropy = -fsum(part * log2(part) for part in parts)
    return (-capacity.leaders, -capacity.slices_with_leader, -entropy, capacity.rank)


def _spread_evenly(
    capacities: Sequence[DomainCapacity], request: LevelRequest, threshold: int, profile: PlacementProfile
) -> list[DomainPods] | None:
    """Gives each domain the threshold, and the excess to the domains with the most capacity."""
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
