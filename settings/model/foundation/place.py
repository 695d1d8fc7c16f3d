"""The place of a GKE cluster: its location and zones."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from settings.model.base import refuse
from settings.model.pools.pool import Pool


@dataclass(frozen=True, slots=True)
class GkePlace:
    """Name, location and zones of a GKE cluster; `protected`: whether deletion of its pools is refused."""

    name: str
    location: str
    zones: tuple[str, ...]
    protected: bool

    @property
    def region(self) -> str:
        """The region of the location, which may be one of its zones."""
        return "-".join(self.location.split("-")[:2])

    @property
    def regional(self) -> bool:
        """Returns whether the cluster is regional rather than zonal."""
        return self.location == self.region


def _not_autopilot(autopilot: bool) -> bool:
    if autopilot:
        refuse(
            "false: Autopilot makes nodes by itself and has no node pools, so flavors would have no nodes, "
            "quotas no capacity behind them, and gangs no pool for queued provisioning",
            "use a Standard cluster; nodeAutoProvisioning creates nodes in addition to its pools",
        )
    return autopilot


Autopilot = Annotated[bool, AfterValidator(_not_autopilot)]


def zones_of(pool: Pool, cluster: GkePlace) -> tuple[str, ...]:
    """Returns the pool's zones, or else the cluster's; empty if GKE chooses three."""
    if pool.zones:
        return pool.zones
    return cluster.zones if cluster.regional else (cluster.location, *cluster.zones)
