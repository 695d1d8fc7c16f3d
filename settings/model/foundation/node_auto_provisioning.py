"""Node auto-provisioning: GKE makes pools of its own for pods that no pool has room for."""

from typing import Annotated

from pydantic import Field

from settings.model.base import Model

Count = Annotated[int, Field(ge=0)]


class Limit(Model):
    """How much of a resource the whole cluster may have, pools of the stack included."""

    min: Count = 0
    """What GKE keeps even when nothing runs."""
    max: Annotated[int, Field(ge=1)]
    """Room for the stack's own pools included."""


class NodeAutoProvisioning(Model):
    """Pools of GKE's own, within these limits; none where it is not given."""

    cpu: Limit
    """In cores."""
    memory: Limit
    """In GB."""
    accelerators: dict[str, Limit] = Field(default_factory=dict)
    """By type, such as nvidia-l4, in pieces."""

    @property
    def limits(self) -> dict[str, Limit]:
        """By the resource types of GKE's API."""
        return {"cpu": self.cpu, "memory": self.memory, **self.accelerators}
