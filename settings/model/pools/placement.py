"""Where the nodes of a pool are."""

from settings.model.foundation.cluster import Gke
from settings.model.pools.pool import Pool


def zones_of(pool: Pool, cluster: Gke) -> tuple[str, ...]:
    """The zones of a pool's nodes: its own, or else the cluster's; none where GKE chooses three."""
    if pool.zones:
        return pool.zones
    return cluster.zones if cluster.regional else (cluster.location, *cluster.zones)
