"""Diagnosis of a pending workload: the quota that it lacks, and flavors that its pods cannot use.

A search for flavors stops at the first pod set without one, and leaves the following pod sets unexamined. So
the least possible quota is added where the search fails, until all pod sets have flavors: the added quota is
the workload's shortfall.
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
    """A pod set that no flavor suits: each flavor of the resource's group has an exclusion.

    `covered`: the queue has a flavor with the resource."""

    pod_set: str
    resource: str
    exclusions: tuple[Exclusion, ...] = ()
    covered: bool = True


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The diagnosis of a workload. `assignment` is what it would get if the queue's nominal quota were raised
    by the `missing` amounts of the shortfalls. `exclusions` are of other flavors with quota."""

    assignment: Assignment
    shortfalls: tuple[Shortfall, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()


def blocked(flavors: QueueFlavors, node: QuotaNode, workload: Workload) -> tuple[Blocked, ...]:
    """Returns the pod sets that no flavor suits, however large its quota."""
    blocks = []
    for pod_set_group in pod_set_groups(workload, (), (), flavors.counts_pods):
        for resource, amount in total(pod_set_group).items():
            if flavors.group_of(resource) is None and amount and not flavors.rules.ignore_undeclared:
                blocks.append(Blocked(pod_set_group[0].pod_set.name, resource, covered=False))
        for group, resource in _groups(flavors, pod_set_group):
            exclusions = tuple(_exclusions(flavors, node, workload, pod_set_group, group))
            if {exclusion.flavor for exclusion in exclusions} == {flavor for flavor, _ in group.columns}:
                blocks.append(Blocked(pod_set_group[0].pod_set.name, resource, exclusions))
    return tuple(blocks)


def diagnose(
    flavors: QueueFlavors,
    node: QuotaNode,
    workload: Workload,
    counts: Sequence[int] = (),
    empty: bool = False,
) -> Diagnosis:
    """Diagnoses a workload that is not blocked. `empty`: as if no quota and no nodes were used. `counts` are
    the pods of each pod set; empty for all pods."""

    def assign(extra: dict[FlavorResource, int]) -> Assignment:
        raised_node = with_more_quota(node, extra) if extra else node
        return FlavorAssigner(flavors, raised_node, workload, empty=empty).assign(counts)

    def headroom(fr: FlavorResource) -> int:
        return node.potentially_available(fr) if empty else node.available(fr)

    extra: dict[FlavorResource, int] = {}
    short: dict[tuple[str, str], None] = {}  # pod set and resource
    assignment = assign(extra)
    while (refusal := assignment.refusal) is not None:
        short[refusal.pod_set, refusal.resource] = None
        options = [shortages for shortages in refusal.shortages if _has_quota(node, shortages)]
        for shortage in _nearest(options, headroom, extra):
            fr = shortage.flavor_resource
            missing, added = shortage.needed - headroom(fr), extra.get(fr, 0)
            extra[fr] = missing if missing > added else 2 * added  # grows in every round, so the loop ends
        assignment = assign(extra)
    for fr in list(extra) if len(extra) > 1 else ():
        fewer = {other: more for other, more in extra.items() if other != fr}
        if (without := assign(fewer)).refusal is None:
            extra, assignment = fewer, without
    lacking = sorted(extra, key=lambda fr: _rank(fr, extra[fr], headroom(fr)))
    return Diagnosis(
        assignment,
        tuple(_shortfall(node, fr, extra[fr], headroom(fr)) for fr in lacking),
        tuple(_other_flavors(flavors, node, workload, short)),
    )


def _other_flavors(
    flavors: QueueFlavors, node: QuotaNode, workload: Workload, short: Collection[tuple[str, str]]
) -> Iterator[Exclusion]:
    """Yields exclusions of flavors with quota for resources that these pod sets lack."""
    for pod_set_group in pod_set_groups(workload, (), (), flavors.counts_pods):
        names = {demand.pod_set.name for demand in pod_set_group}
        for group, _ in _groups(flavors, pod_set_group):
            if any(pod_set in names and resource in group.covered for pod_set, resource in short):
                for exclusion in _exclusions(flavors, node, workload, pod_set_group, group):
                    if exclusion.cause is not ExclusionCause.NO_QUOTA:
                        yield exclusion


def _groups(flavors: QueueFlavors, pod_set_group: PodSetGroup) -> Iterable[tuple[FlavorGroup, str]]:
    """Returns the resource groups that the pods need, each with its most significant requested resource."""
    requested = total(pod_set_group)
    groups: dict[int, tuple[FlavorGroup, str]] = {}
    for resource in sorted(requested, key=lambda name: (not requested[name], "/" not in name, name)):
        group = flavors.group_of(resource)
        if group is not None:
            groups.setdefault(group.position, (group, resource))
    return groups.values()


def _has_quota(node: QuotaNode, shortages: Sequence[Shortage]) -> bool:
    """Returns whether the queue can have quota for every resource that is short."""
    return all(node.potentially_available(shortage.flavor_resource) > 0 for shortage in shortages)


def _nearest(
    options: Sequence[Sequence[Shortage]],
    headroom: Callable[[FlavorResource], int],
    extra: dict[FlavorResource, int],
) -> Sequence[Shortage]:
    """Returns the shortages of one flavor: flavors whose total quota suffices are preferred, then the flavor
    with the smallest relative shortage, measured by its scarcest resource."""

    def relative(shortage: Shortage) -> Fraction:
        fr = shortage.flavor_resource
        return Fraction(shortage.needed - headroom(fr) - extra.get(fr, 0), shortage.needed)

    def lack(shortages: Sequence[Shortage]) -> tuple[bool, Fraction]:
        never = any(shortage.obstacle is Obstacle.CAPACITY for shortage in shortages)
        return never, max(map(relative, shortages))

    return min(options, key=lack)


def _rank(fr: FlavorResource, missing: int, headroom: int) -> tuple[Fraction, bool]:
    """Returns the sort key of a shortfall: the largest first; of equals, devices before cpu and memory."""
    return -Fraction(missing, missing + max(0, headroom)), "/" not in fr.resource


def _shortfall(node: QuotaNode, fr: FlavorResource, missing: int, headroom: int) -> Shortfall:
    return Shortfall(
        *fr,
        needed=missing + headroom,
        missing=missing,
        nominal=node.quota(fr).nominal,
        used=node.usage.get(fr, 0),
        available=node.available(fr),
        available_max=node.potentially_available(fr),
    )


def _exclusions(
    flavors: QueueFlavors, node: QuotaNode, workload: Workload, pod_set_group: PodSetGroup, group: FlavorGroup
) -> Iterator[Exclusion]:
    """Yields exclusions of flavors without quota for a requested resource, and of flavors whose nodes the
    pods cannot use."""
    requested = sorted(resource for resource, amount in total(pod_set_group).items() if amount)
    refused = flavors.refused(pod_set_group, group) or [None] * len(group.columns)
    pod_set = pod_set_group[0].pod_set.name
    for (flavor, columns), attempt in zip(group.columns, refused, strict=True):
        without_quota = [r for r in requested if r in columns and not node.potentially_available(columns[r])]
        for resource in without_quota:
            text = f"does not provide {resource}"
            yield Exclusion(flavor, pod_set, ExclusionCause.NO_QUOTA, text, resource)
        if without_quota:
            continue
        if not flavors.allows(workload, flavor):
            yield Exclusion(flavor, pod_set, ExclusionCause.OTHER, NOT_ALLOWED)
        elif attempt is not None:
            yield from _mismatches(flavors, pod_set_group, flavor, attempt.mismatch)


def _mismatches(
    flavors: QueueFlavors, pod_set_group: PodSetGroup, name: str, message: str
) -> Iterator[Exclusion]:
    """Yields the reasons why the pods cannot use the flavor's nodes; one with the message if there are
    none."""
    flavor = flavors.flavor(name)
    exclusions = [
        Exclusion(name, demand.pod_set.name, mismatch.cause, mismatch.message, mismatch.key)
        for demand in pod_set_group
        for mismatch in (mismatches(demand.pod_set, flavor) if flavor else ())
    ]
    yield from exclusions or [Exclusion(name, pod_set_group[0].pod_set.name, ExclusionCause.OTHER, message)]
