"""Maintenance exclusions: periods in which GKE does not upgrade a cluster."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from policies.reading import must_not_be, pick
from policies.rule import Resource, resource_rule
from policies.rules.cluster import CLUSTER
from policies.rules.node_pools import COMPUTE_CLASS, NODE_POOL

EXCLUSIONS = "maintenancePolicy.maintenanceExclusions"
# The scope whose exclusions leave nodes their patches.
PATCHED = "NO_MINOR_UPGRADES"
UNTIL_END_OF_SUPPORT = "UNTIL_END_OF_SUPPORT"
# The longest exclusion of all upgrades, and the shortest maintenance between two that GKE accepts.
LONGEST, SHORTEST_BREAK = timedelta(days=90), timedelta(hours=48)


@resource_rule(
    "muster-upgrades-are-not-withheld",
    CLUSTER,
    NODE_POOL,
    COMPUTE_CLASS,
    source="CIS GKE 1.9, 5.5.3; GKE, maintenance windows and exclusions",
    severity="high",
)
def upgrades_are_not_withheld(resource: Resource) -> Iterator[str]:
    """Every maintenance exclusion ends, pools do not exclude upgrades until the end of support, and security
    fixes of nodes are excluded for at most 90 days, also by several exclusions in a row."""
    if resource.kind == COMPUTE_CLASS:
        yield from must_not_be(resource, "spec.nodePoolConfig.maintenanceExclusion", UNTIL_END_OF_SUPPORT)
    elif resource.kind == NODE_POOL:
        for policy in pick(resource.props, "maintenancePolicies") or ():
            if any(pick(exclusion, "enabled") for exclusion in policy["exclusionUntilEndOfSupports"]):
                yield "remove maintenancePolicies: nodes get no fixes until the end of support"
    else:
        yield from _withheld_by(resource)


def _withheld_by(cluster: Resource) -> Iterator[str]:
    patchless: list[tuple[datetime, datetime]] = []
    for i, exclusion in enumerate(pick(cluster.props, *EXCLUSIONS.split(".")) or ()):
        if exclusion.get("endTime") is None:
            yield f"set {EXCLUSIONS}[{i}].endTime: it is absent"
        elif pick(exclusion, "exclusionOptions", "scope") != PATCHED:
            patchless.append(_period(exclusion))
    for start, end in _joined(patchless):
        if end - start > LONGEST:
            yield (
                f"shorten {EXCLUSIONS} to {LONGEST.days} days without fixes of nodes: those from "
                f"{start:%Y-%m-%d} to {end:%Y-%m-%d} follow each other"
            )


def _period(exclusion: Mapping[str, Any]) -> tuple[datetime, datetime]:
    return _instant(exclusion["startTime"]), _instant(exclusion["endTime"])


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _joined(periods: list[tuple[datetime, datetime]]) -> Iterator[tuple[datetime, datetime]]:
    """Yields the periods, in which those with a shorter break between them are one."""
    joined: list[tuple[datetime, datetime]] = []
    for start, end in sorted(periods):
        if joined and start - joined[-1][1] < SHORTEST_BREAK:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    yield from joined
