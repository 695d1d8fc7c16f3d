"""Sentences about the quota that a workload lacks; they complete "the workload …"."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from muster.admission import quantities
from muster.admission.explain.diagnosis import Blocked
from muster.admission.model import ClusterQueue, Exclusion, ExclusionCause, FlavorResource, Shortfall
from muster.admission.quota.tree import QuotaNode

_NAMES_MAX = 2  # workloads named in a sentence


def short(node: QuotaNode, shortfalls: Sequence[Shortfall], exclusions: Sequence[Exclusion]) -> str:
    first, *others = shortfalls
    parts = [f"needs {_needed(first)} but ClusterQueue {node.name} has {_left(node, first)}"]
    parts += [f"also needs {_needed(other)} but it has {_left(node, other)}" for other in others]
    return "; ".join(parts) + _besides(exclusions)


def too_large(node: QuotaNode, shortfalls: Sequence[Shortfall], exclusions: Sequence[Exclusion]) -> str:
    first, *others = shortfalls
    parts = [
        f"needs {_needed(first)} but ClusterQueue {node.name} can never have more than {_most(first)}",
        *(f"also needs {_needed(other)} but it can never have more than {_most(other)}" for other in others),
    ]
    return f"{'; '.join(parts)}: ask for less, or have its quota raised{_besides(exclusions)}"


def no_flavor(queue: ClusterQueue, blocks: Sequence[Blocked], then: str) -> str:
    """`then` is what would still be missing if the pods could use all flavors."""
    return "; ".join(_no_flavor(queue, one) for one in blocks) + then


def _no_flavor(queue: ClusterQueue, of: Blocked) -> str:
    nowhere = _provided_nowhere(of.exclusions) if of.covered else of.resource
    if nowhere:
        return f"pod set {of.pod_set} asks for {nowhere}, which ClusterQueue {queue.name} has no quota for"
    return (
        f"pod set {of.pod_set} asks for {of.resource}, but matches no flavor of ClusterQueue {queue.name}: "
        f"{_listed(of.exclusions)}"
    )


def _provided_nowhere(exclusions: Sequence[Exclusion]) -> str:
    """A resource that none of the flavors has any quota for; empty if there is none."""
    lacking = [
        {one.key for one in of if one.cause is ExclusionCause.NO_QUOTA}
        for _, of in groupby(exclusions, lambda exclusion: exclusion.flavor)
    ]
    return min(set.intersection(*lacking), default="") if lacking else ""


def leaving(victims: tuple[str, ...]) -> str:
    named = list(victims[:_NAMES_MAX])
    if len(victims) > _NAMES_MAX:
        named.append(f"{len(victims) - _NAMES_MAX} more")
    workloads = "workload" if len(victims) == 1 else "workloads"
    return f"waits for {len(victims)} preempted {workloads} to leave first: {_enumerate(named)}"


def _left(node: QuotaNode, lack: Shortfall) -> str:
    """The rest of the quota, and where more could come from."""
    own, available = max(0, lack.nominal - lack.used), max(0, lack.available)
    left = f"{_amount(lack, min(own, available))} of {_amount(lack, lack.nominal)} left"
    if lack.available < 0:
        left += f", where {_amount(lack, -lack.available)} more are in use than the quota allows"
    if node.parent is None:
        return left
    if available < own:
        return f"{left}, as cohort {node.parent.name} has lent out {_amount(lack, own - available)}"
    fr = FlavorResource(lack.flavor, lack.resource)
    limit = node.quota(fr).borrowing_limit
    if limit == 0:
        return f"{left} and may not borrow"
    lent = available - own
    if limit is not None and node.parent.available(fr) + node.local_available(fr) > available:
        return f"{left} and may borrow {_amount(lack, lent) if lent else 'no'} more of it"
    if lent == 0:
        return f"{left} and cohort {node.parent.name} has nothing to lend"
    return f"{left} and cohort {node.parent.name} can lend {_amount(lack, lent)} more"


def _most(lack: Shortfall) -> str:
    borrowed = (
        f" ({_amount(lack, lack.available_max - lack.nominal)} of it borrowed)"
        if lack.available_max > lack.nominal
        else ""
    )
    return f"{_amount(lack, lack.available_max)}{borrowed}"


def _needed(lack: Shortfall) -> str:
    return f"{_amount(lack, lack.needed)} {lack.resource} of flavor {lack.flavor}"


def _amount(lack: Shortfall, units: int) -> str:
    return quantities.format(lack.resource, units)


def _besides(exclusions: Sequence[Exclusion]) -> str:
    """Flavors with quota that the pods can not use."""
    return f" (flavor {_listed(exclusions)})" if exclusions else ""


def _listed(exclusions: Sequence[Exclusion]) -> str:
    by_flavor = groupby(exclusions, lambda exclusion: exclusion.flavor)
    return ", ".join(f"{flavor} {' and '.join(one.message for one in of)}" for flavor, of in by_flavor)


def _enumerate(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
