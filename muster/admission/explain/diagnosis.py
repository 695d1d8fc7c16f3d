"""Diagnosis of a pending workload: the quota that it lacks, and flavors that its pods cannot use.

A search for flavors stops at the first pod set that gets none, and says nothing of those behind it. So
quota is added where the search fails, as little as possible, until the whole workload has its flavors:
what had to be added is what the workload lacks.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from muster.admission.flavors.assigner import FlavorAssigner
from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.attempts import Obstacle, Shortage
from muster.admission.flavors.demand import PodSetGroup, pod_set_groups, total
from muster.admission.flavors.queue_flavors import NOT_ALLOWED, FlavorGroup, QueueFlavors
from muster.admission.model import Exclusion, ExclusionCause, FlavorResource, Shortfall, Workload
from muster.admission.nodes import mismatches
from muster.admission.quota.more_quota import with_more_quota
from muster.admission.quota.tree import QuotaNode


@dataclass(frozen=True, slots=True)
class Blocked:
    """Pods that no flavor is for: each flavor of the resource's group has an exclusion.

    `covered`: the queue has flavors for the resource at all."""

    pod_set: str
    resource: str
    exclusions: tuple[Exclusion, ...] = ()
    covered: bool = True


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`assignment` is what the workload gets once the queue's nominal quota is raised by what is missing
    in the `shortfalls`. `exclusions` are of flavors that could have had the quota."""

    assignment: Assignment
    shortfalls: tuple[Shortfall, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()


def blocked(flavors: QueueFlavors, node: QuotaNode, workload: Workload) -> tuple[Blocked, ...]:
    """Obstacles that no quota removes: all that has to be changed before the workload's flavors can be
    searched."""
    found = []
    for pod_set_group in pod_set_groups(workload, (), (), flavors.counts_pods):
        for resource, amount in total(pod_set_group).items():
            if flavors.group_of(resource) is None and amount and not flavors.rules.ignore_undeclared:
                found.append(Blocked(pod_set_group[0].pod_set.name, resource, covered=False))
        for group, resource in _groups(flavors, pod_set_group):
            exclusions = tuple(_exclusions(flavors, node, workload, pod_set_group, group))
            if {one.flavor for one in exclusions} == {flavor for flavor, _ in group.columns}:
                found.append(Blocked(pod_set_group[0].pod_set.name, resource, exclusions))
    return tuple(found)


def diagnose(
    flavors: QueueFlavors,
    node: QuotaNode,
    workload: Workload,
    counts: Sequence[int] = (),
    empty: bool = False,
) -> Diagnosis:
    """Diagnoses a workload that is not blocked. `empty`: as if nothing were used. `counts` are pods of each
    pod set, if not all."""

    def assign(extra: dict[FlavorResource, int]) -> Assignment:
        above = with_more_quota(node, extra) if extra else node
        return FlavorAssigner(flavors, above, workload, empty=empty).assign(counts)

    def room(fr: FlavorResource) -> int:
        return node.potentially_available(fr) if empty else node.available(fr)

    extra: dict[FlavorResource, int] = {}
    short: dict[tuple[str, str], None] = {}  # pod set and resource
    assignment = assign(extra)
    while (refusal := assignment.refusal) is not None:
        short[refusal.pod_set, refusal.resource] = None
        options = [of for of in refusal.shortages if _has_quota(node, of)]
        for shortage in _nearest(options, room, extra):
            fr = shortage.flavor_resource
            missing, added = shortage.needed - room(fr), extra.get(fr, 0)
            extra[fr] = missing if missing > added else 2 * added  # every round adds some: it ends
        assignment = assign(extra)
    for fr in list(extra) if len(extra) > 1 else ():
        fewer = {other: more for other, more in extra.items() if other != fr}
        if (without := assign(fewer)).refusal is None:
            extra, assignment = fewer, without
    lacking = sorted(extra, key=lambda fr: _rank(fr, extra[fr], room(fr)))
    return Diagnosis(
        assignment,
        tuple(_shortfall(node, fr, extra[fr], room(fr)) for fr in lacking),
        tuple(_besides(flavors, node, workload, short)),
    )


def _besides(
    flavors: QueueFlavors, node: QuotaNode, workload: Workload, short: Collection[tuple[str, str]]
) -> Iterator[Exclusion]:
    """Flavors that these pod sets could have their quota of, if they could use them."""
    for pod_set_group in pod_set_groups(workload, (), (), flavors.counts_pods):
        names = {demand.pod_set.name for demand in pod_set_group}
        for group, _ in _groups(flavors, pod_set_group):
            if any(pod_set in names and resource in group.covered for pod_set, resource in short):
                for exclusion in _exclusions(flavors, node, workload, pod_set_group, group):
                    if exclusion.cause is not ExclusionCause.NO_QUOTA:
                        yield exclusion


def _groups(flavors: QueueFlavors, pod_set_group: PodSetGroup) -> Iterable[tuple[FlavorGroup, str]]:
    """The resource groups that pods choose flavors of, each with what they ask for first."""
    wanted = total(pod_set_group)
    found: dict[int, tuple[FlavorGroup, str]] = {}
    for resource in sorted(wanted, key=lambda name: (not wanted[name], "/" not in name, name)):
        group = flavors.group_of(resource)
        if group is not None:
            found.setdefault(group.position, (group, resource))
    return found.values()


def _has_quota(node: QuotaNode, shortages: Sequence[Shortage]) -> bool:
    """Whether the queue has quota for everything that is short: else the flavor is not for these pods."""
    return all(node.potentially_available(shortage.flavor_resource) > 0 for shortage in shortages)


def _nearest(
    options: Sequence[Sequence[Shortage]],
    room: Callable[[FlavorResource], int],
    extra: dict[FlavorResource, int],
) -> Sequence[Shortage]:
    """Picks a flavor: those that could have room as things are come first; then the one that lacks least, by
    the resource that it lacks most of."""

    def lack(shortages: Sequence[Shortage]) -> tuple[bool, Fraction]:
        never = any(shortage.obstacle is Obstacle.CAPACITY for shortage in shortages)
        return never, max(
            Fraction(one.needed - room(one.flavor_resource) - extra.get(one.flavor_resource, 0), one.needed)
            for one in shortages
        )

    return min(options, key=lack)


def _rank(fr: FlavorResource, missing: int, room: int) -> tuple[Fraction, bool]:
    """The largest lack comes first; among equals a device says more than cpu and memory."""
    return -Fraction(missing, missing + max(0, room)), "/" not in fr.resource


def _shortfall(node: QuotaNode, fr: FlavorResource, missing: int, room: int) -> Shortfall:
    return Shortfall(
        *fr,
        needed=missing + room,
        missing=missing,
        nominal=node.quota(fr).nominal,
        used=node.usage.get(fr, 0),
        available=node.available(fr),
        available_max=node.potentially_available(fr),
    )


def _exclusions(
    flavors: QueueFlavors, node: QuotaNode, workload: Workload, pod_set_group: PodSetGroup, group: FlavorGroup
) -> Iterator[Exclusion]:
    """Flavors without quota for what the pods ask for, and those whose nodes they can not use."""
    asked = sorted(resource for resource, amount in total(pod_set_group).items() if amount)
    refused = flavors.refused(pod_set_group, group) or [None] * len(group.columns)
    pod_set = pod_set_group[0].pod_set.name
    for (flavor, columns), attempt in zip(group.columns, refused, strict=True):
        without = [r for r in asked if r in columns and not node.potentially_available(columns[r])]
        for resource in without:
            text = f"does not provide {resource}"
            yield Exclusion(flavor, pod_set, ExclusionCause.NO_QUOTA, text, resource)
        if without:
            continue
        if not flavors.allows(workload, flavor):
            yield Exclusion(flavor, pod_set, ExclusionCause.OTHER, NOT_ALLOWED)
        elif attempt is not None:
            yield from _why(flavors, pod_set_group, flavor, attempt.mismatch)


def _why(flavors: QueueFlavors, pod_set_group: PodSetGroup, flavor: str, said: str) -> Iterator[Exclusion]:
    known = flavors.flavor(flavor)
    found = [
        Exclusion(flavor, demand.pod_set.name, one.cause, one.message, one.key)
        for demand in pod_set_group
        for one in (mismatches(demand.pod_set, known) if known else ())
    ]
    yield from found or [Exclusion(flavor, pod_set_group[0].pod_set.name, ExclusionCause.OTHER, said)]
