"""ComputeClasses: GKE creates a pool's nodes in the first of several ways in which it can get them."""

from typing import Annotated

from pydantic import Field

from settings.model.base import Model
from settings.model.pools.values import MachineType, Provisioning, Reservation
from settings.model.regions import Zone


class NodePriority(Model):
    """One way to get nodes; GKE tries the next one if it cannot get them this way."""

    provisioning: Provisioning = "on-demand"
    """How nodes are obtained; `queued` is refused, as it needs a node pool."""
    reservation: Reservation | None = None
    """The reservation that `provisioning: reserved` uses."""
    machine_type: MachineType | None = None
    """Another machine type, with the pool's accelerators and at least its size; the pool's own if unset."""
    zones: tuple[Zone, ...] = ()
    """Zones of the nodes (none: those of the cluster, or of the reservation)."""
    max_run_seconds: Annotated[int, Field(ge=1)] | None = None
    """Time after which GKE stops a node, even if it is in use."""


class ComputeClass(Model):
    """GKE's ComputeClass, whose nodes GKE creates when pods of the flavor need them; it has the pool's name.

    Its nodes are never of another kind: if no priority can be met, pods wait.
    """

    priorities: Annotated[tuple[NodePriority, ...], Field(min_length=1)]
    """Ways to get nodes, the preferred one first."""
