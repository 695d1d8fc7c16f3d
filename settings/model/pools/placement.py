"""Zones of a pool's nodes."""

from settings.model.foundation.place import GkePlace
from settings.model.pools.pool import Pool


def zones_of(pool: Pool, cluster: GkePlace) -> tuple[str, ...]:
    """Returns the pool's zones, or else the cluster's; empty if GKE chooses three."""
    if pool.zones:
        return pool.zones
    return cluster.zones if cluster.regional else (cluster.location, *cluster.zones)
