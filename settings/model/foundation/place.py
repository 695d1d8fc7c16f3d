"""Where a GKE cluster is."""

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator
from typing_extensions import Doc

from settings.model.base import refuse

LOCATION = re.compile(r"[a-z]+-[a-z]+[0-9]+(-[a-z])?")


@dataclass(frozen=True, slots=True)
class GkePlace:
    """Name, location and zones of a GKE cluster; `protected`: whether deletion of its pools is refused."""

    name: str
    location: str
    zones: tuple[str, ...]
    protected: bool

    @property
    def region(self) -> str:
        return "-".join(self.location.split("-")[:2])

    @property
    def regional(self) -> bool:
        return self.location == self.region


def _location(location: str) -> str:
    if not LOCATION.fullmatch(location):
        refuse("a zone such as us-west1-b or a region such as us-west1", "write where the cluster runs")
    return location


def _not_autopilot(autopilot: bool) -> bool:
    if autopilot:
        refuse(
            "false: Autopilot makes nodes by itself and has no node pools, so flavors would have no nodes, "
            "quotas no capacity behind them, and gangs no pool for queued provisioning",
            "use a Standard cluster; nodeAutoProvisioning makes nodes beside the stack's pools there",
        )
    return autopilot


Location = Annotated[str, AfterValidator(_location), Doc("region or zone")]
Autopilot = Annotated[bool, AfterValidator(_not_autopilot)]
