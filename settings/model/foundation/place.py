"""The place of a GKE cluster: its location and zones, and names that it shares with no other cluster."""

import hashlib
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from settings.model.base import refuse
from settings.model.pools.pool import Pool

LONGEST_NAME = 63  # of most resources of Google Cloud
HASH_LENGTH = 6


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

    def unique(self, *parts: str, longest: int = LONGEST_NAME) -> str:
        """Returns the name of a resource of the cluster in its project: the cluster's name, these parts, and
        a hash of the location and of all parts in full.

        The hash tells apart clusters of one name in several locations, names that differ only in characters
        that were cut off, and parts that are joined to the same text. The last part is never cut.
        """
        digest = hashlib.sha256("/".join((self.location, self.name, *parts)).encode()).hexdigest()
        *cut, last = [re.sub(r"[^a-z0-9]+", "-", part) for part in (self.name, *parts)]
        end = f"-{last}-{digest[:HASH_LENGTH]}"
        assert len(end) < longest, "callers pass a short last part"
        return "-".join(cut)[: longest - len(end)].rstrip("-") + end


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
