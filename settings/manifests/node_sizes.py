"""The sizes of a flavor's nodes, by which the controller refuses pods that fit none of them."""

import json
from fractions import Fraction

from settings.model.pools.allocatable import allocatable
from settings.model.pools.pool import Pool

MIB = 1024**2


def node_sizes(pool: Pool) -> str:
    """Returns what one node leaves to the pods of gangs, as JSON: a list of resources with quantities, one
    for each kind of nodes that the pool may have.

    GKE's reservations are taken off, and of DaemonSets those that the settings declare: by an estimate of
    GKE's own, a pod that just fits would be refused.
    """
    return json.dumps([_size(pool, kind) for kind in pool.variants], separators=(",", ":"))


def _size(pool: Pool, kind: Pool) -> dict[str, str]:
    taken = pool.daemon_sets.requests if pool.daemon_sets else {}
    remaining = {resource: size - taken.get(resource, 0) for resource, size in allocatable(kind).items()}
    return {resource: _written(resource, size) for resource, size in remaining.items() if resource != "pods"}


def _written(resource: str, size: Fraction) -> str:
    """Writes an amount, rounded down."""
    if resource == "cpu":
        return f"{int(size * 1000)}m"
    if resource in ("memory", "ephemeral-storage"):
        return f"{int(size / MIB)}Mi"
    return str(int(size))
