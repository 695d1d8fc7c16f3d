"""Messages about the size of elastic gangs, by worker group."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster import admission as core
from muster.cluster.growth_nodes import GroupNodes
from muster.cluster.jobs.scaling import REPLICAS_MAX, GroupSizes, Sizes, workers
from muster.controller.workload.decisions import WAIT_REASONS
from muster.objects.meta import rfc3339

UNSUPPORTED = "GrowthUnsupported"
"""The reason of GrowthLimited for a gang that keeps its minimum."""
WAITS_FOR_NODES, NO_NODES = "WaitingForNodes", "ProvisioningFailed"
"""The reasons of GrowthLimited for a group whose further pods need nodes of a queued pool."""

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class GrowthLimit:
    """Why the worker groups of a gang don't get more workers: the reason and the message of the condition
    GrowthLimited."""

    reason: str
    message: str


def growth_limit(
    sizes: Sizes,
    granted: Mapping[str, int],
    asked: Mapping[str, int],
    waits: Mapping[str, core.Waiting],
    nodes: Mapping[str, GroupNodes],
    expected: Mapping[str, str] = _NOTHING,
) -> GrowthLimit | None:
    """Returns the limit of groups whose granted pods have no nodes yet, or whose next replica does not fit,
    with the reason of the first; None without such groups. Counts are of pods, by pod set; `expected` are
    clauses about the estimated growth."""
    by_group = {
        name: _nodes_limit(name, sizes[name], granted[name], nodes.get(name))
        or _quota_limit(name, sizes[name], granted[name], asked.get(name, 0), waits.get(name))
        for name in sorted(waits.keys() | nodes.keys())
    }
    limits = {name: limit for name, limit in by_group.items() if limit is not None}
    if not limits:
        return None
    messages = (
        "; ".join(filter(None, (limit.message, expected.get(name)))) for name, limit in limits.items()
    )
    return GrowthLimit(next(iter(limits.values())).reason, ". ".join(messages))


def _nodes_limit(name: str, group: GroupSizes, granted: int, nodes: GroupNodes | None) -> GrowthLimit | None:
    if nodes is not None and nodes.pending is not None:
        request, count = nodes.pending, nodes.pending.count
        counts = f"{nodes.ready} of {workers(granted)} granted in group {name} have nodes"
        waits = f"the next {count} wait{'s' if count == 1 else ''} for ProvisioningRequest {request.name}"
        return GrowthLimit(WAITS_FOR_NODES, f"{counts}; {waits}{_detail(request.message)}")
    if nodes is not None and nodes.failed is not None:
        until = rfc3339(nodes.retry_at_ms)[11:19]
        why = f"ProvisioningRequest {nodes.failed.name} got no nodes{_detail(nodes.failed.message)}"
        message = f"{_granted(name, group, granted)}; it can't grow before {until} UTC because {why}"
        return GrowthLimit(NO_NODES, message)
    return None


def _detail(message: str) -> str:
    return f": {message.rstrip('.')}" if message else ""


def _quota_limit(
    name: str,
    group: GroupSizes,
    granted: int,
    asked: int,
    waiting: core.Waiting | None,
) -> GrowthLimit | None:
    if waiting is None or not _may_be_larger(group, granted):
        return None
    message = _limited(name, group, granted, asked, waiting.message)
    return GrowthLimit(WAIT_REASONS[waiting.reason], message)


def unsupported(sizes: Sizes, granted: Mapping[str, int]) -> GrowthLimit | None:
    """Returns the limit of a gang with an admission check that can't be repeated for further pods, or whose
    provisioned nodes are in a topology."""
    limited = sorted(name for name in sizes if name in granted and _may_be_larger(sizes[name], granted[name]))
    if not limited:
        return None
    counts = ", ".join(_granted(name, sizes[name], granted[name]) for name in limited)
    why = (
        "gangs in a topology of queued nodes, and those with admission checks other than for nodes, keep "
        "their minimum"
    )
    return GrowthLimit(UNSUPPORTED, f"{counts}: {why}")


def grown(sizes: Sizes, before: Mapping[str, int], granted: Mapping[str, int]) -> str:
    """Returns the growth of the groups; empty if none has grown."""
    return "; ".join(
        f"{granted[name] - before[name]} more: {_granted(name, sizes[name], granted[name])}"
        for name in sorted(sizes)
        if granted.get(name, 0) > before.get(name, 0) and name in before
    )


def _limited(name: str, group: GroupSizes, granted: int, asked: int, why: str) -> str:
    replica = "a worker" if group.num_of_hosts == 1 else f"a replica of {group.num_of_hosts} workers"
    if asked > granted:
        waits = "wait" if asked - granted > 1 else "waits"
        granted_of = f"{granted} of {workers(asked)} granted in group {name}"
        return f"{granted_of}; the next {asked - granted} {waits} because {replica} {why}"
    return f"{_granted(name, group, granted)}; it can't grow because {replica} {why}"


def _granted(name: str, group: GroupSizes, granted: int) -> str:
    if group.max_replicas >= REPLICAS_MAX:
        return f"{workers(granted)} granted in group {name}"
    return f"{granted} of up to {workers(group.max_replicas * group.num_of_hosts)} granted in group {name}"


def _may_be_larger(group: GroupSizes, granted: int) -> bool:
    return group.asked(group.max_replicas) > granted
