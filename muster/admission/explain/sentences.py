"""Formats sentences about the quota that a workload lacks; they complete "the workload …"."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from muster.admission import quantities
from muster.admission.explain.diagnosis import Blocked
from muster.admission.explain.verdict import HeadWait
from muster.admission.model import ClusterQueue, Exclusion, ExclusionCause, FlavorResource, Shortfall
from muster.admission.quota.tree import QuotaNode

_NAMES_MAX = 2  # workloads named in a sentence


def short(node: QuotaNode, shortfalls: Sequence[Shortfall], exclusions: Sequence[Exclusion]) -> str:
    """Explains that the queue has less quota left than the workload needs."""
    first, *others = shortfalls
    parts = [f"needs {_needed(first)} but ClusterQueue {node.name} has {_remaining(node, first)}"]
    parts += [f"also needs {_needed(other)} but it has {_remaining(node, other)}" for other in others]
    return "; ".join(parts) + _other_flavors(exclusions)


def too_large(node: QuotaNode, shortfalls: Sequence[Shortfall], exclusions: Sequence[Exclusion]) -> str:
    """Explains that the workload needs more than the queue can ever have, and what to do."""
    first, *others = shortfalls
    parts = [
        f"needs {_needed(first)} but ClusterQueue {node.name} can have at most {_most(first)}",
        *(f"also needs {_needed(other)} but it can have at most {_most(other)}" for other in others),
    ]
    return f"{'; '.join(parts)}: request less, or raise its quota{_other_flavors(exclusions)}"


def no_flavor(queue: ClusterQueue, blocks: Sequence[Blocked], also: str) -> str:
    """Returns why no flavor suits. `also` describes the quota that would be missing if the pods could use all
    flavors."""
    return "; ".join(_no_flavor(queue, block) for block in blocks) + also


def _no_flavor(queue: ClusterQueue, block: Blocked) -> str:
    without_quota = _without_quota(block.exclusions) if block.covered else block.resource
    if without_quota:
        return (
            f"pod set {block.pod_set} requests {without_quota}, for which ClusterQueue {queue.name} has "
            "no quota"
        )
    return (
        f"pod set {block.pod_set} requests {block.resource}, but matches no flavor of ClusterQueue "
        f"{queue.name}: {_by_flavor(block.exclusions)}"
    )


def _without_quota(exclusions: Sequence[Exclusion]) -> str:
    """Returns a resource for which no flavor has quota; empty if there is none."""
    lacking = [
        {exclusion.key for exclusion in group if exclusion.cause is ExclusionCause.NO_QUOTA}
        for _, group in groupby(exclusions, lambda exclusion: exclusion.flavor)
    ]
    return min(set.intersection(*lacking), default="") if lacking else ""


def leaving(verdict: HeadWait) -> str:
    """Returns a clause about preempted workloads, or preempted surplus, whose pods still run."""
    targets, replicas = verdict.targets, verdict.replicas
    named = list(targets[:_NAMES_MAX])
    if len(targets) > _NAMES_MAX:
        named.append(f"{len(targets) - _NAMES_MAX} more")
    if replicas:
        workers = "replica" if replicas == 1 else "replicas"
        return f"waits for {replicas} preempted {workers} of {_enumerate(named)} to terminate"
    workloads = "workload" if len(targets) == 1 else "workloads"
    return f"waits for {len(targets)} preempted {workloads} to terminate: {_enumerate(named)}"


def _remaining(node: QuotaNode, shortfall: Shortfall) -> str:
    """Returns the remaining quota, and where more could come from."""
    own, available = max(0, shortfall.nominal - shortfall.used), max(0, shortfall.available)
    text = f"{_amount(shortfall, min(own, available))} of {_amount(shortfall, shortfall.nominal)} left"
    if shortfall.available < 0:
        text += f", with usage {_amount(shortfall, -shortfall.available)} above the quota"
    if node.parent is None:
        return text
    if available < own:
        return f"{text}, as cohort {node.parent.name} has lent out {_amount(shortfall, own - available)}"
    fr = FlavorResource(shortfall.flavor, shortfall.resource)
    limit = node.quota(fr).borrowing_limit
    if limit == 0:
        return f"{text} and may not borrow"
    lent = available - own
    if limit is not None and node.parent.available(fr) + node.local_available(fr) > available:
        return f"{text} and may borrow {_amount(shortfall, lent) if lent else 'no'} more of it"
    if lent == 0:
        return f"{text} and cohort {node.parent.name} has nothing to lend"
    return f"{text} and cohort {node.parent.name} can lend {_amount(shortfall, lent)} more"


def _most(shortfall: Shortfall) -> str:
    borrowed = shortfall.available_max - shortfall.nominal
    suffix = f" ({_amount(shortfall, borrowed)} of it borrowed)" if borrowed > 0 else ""
    return f"{_amount(shortfall, shortfall.available_max)}{suffix}"


def _needed(shortfall: Shortfall) -> str:
    return f"{_amount(shortfall, shortfall.needed)} {shortfall.resource} of flavor {shortfall.flavor}"


def _amount(shortfall: Shortfall, units: int) -> str:
    return quantities.format(shortfall.resource, units)


def _other_flavors(exclusions: Sequence[Exclusion]) -> str:
    """Returns why the pods cannot use other flavors with quota."""
    return f" (flavor {_by_flavor(exclusions)})" if exclusions else ""


def _by_flavor(exclusions: Sequence[Exclusion]) -> str:
    groups = groupby(exclusions, lambda exclusion: exclusion.flavor)
    return ", ".join(
        f"{flavor} {' and '.join(exclusion.message for exclusion in group)}" for flavor, group in groups
    )


def _enumerate(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
