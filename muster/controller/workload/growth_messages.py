"""Messages about the size of elastic gangs, by worker group."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster import admission as core
from muster.cluster.jobs.scaling import REPLICAS_MAX, GroupSizes, Sizes, workers
from muster.controller.workload.decisions import WAIT_REASONS

UNSUPPORTED = "GrowthUnsupported"
"""The reason of GrowthLimited for a gang that keeps its minimum."""


@dataclass(frozen=True, slots=True)
class GrowthLimit:
    """Why the worker groups of a gang don't get more workers: the reason and the message of the condition
    GrowthLimited."""

    reason: str
    message: str


def growth_limit(
    sizes: Sizes, granted: Mapping[str, int], asked: Mapping[str, int], waits: Mapping[str, core.Waiting]
) -> GrowthLimit | None:
    """Returns the limit of groups whose next replica does not fit, with the reason of the first; None without
    such groups. Counts are of pods, by pod set."""
    limited = {name: waits[name] for name in sorted(waits) if _may_be_larger(sizes[name], granted[name])}
    if not limited:
        return None
    sentences = (
        _limited(name, sizes[name], granted[name], asked.get(name, 0), waiting.message)
        for name, waiting in limited.items()
    )
    first = next(iter(limited.values()))
    return GrowthLimit(WAIT_REASONS[first.reason], ". ".join(sentences))


def unsupported(sizes: Sizes, granted: Mapping[str, int]) -> GrowthLimit | None:
    """Returns the limit of a gang that holds quota with admission checks or in a topology."""
    limited = sorted(name for name in sizes if name in granted and _may_be_larger(sizes[name], granted[name]))
    if not limited:
        return None
    counts = ", ".join(_granted(name, sizes[name], granted[name]) for name in limited)
    why = "gangs with admission checks or a topology keep their minimum"
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
