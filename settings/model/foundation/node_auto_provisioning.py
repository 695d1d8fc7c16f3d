"""Node auto-provisioning: GKE creates node pools for pods that fit on none of the stack's pools."""

from typing import Annotated

from pydantic import Field

from settings.model.base import Model

Count = Annotated[int, Field(ge=0)]


class Limit(Model):
    """Cluster-wide limit of a resource, including the stack's own pools."""

    min: Count = 0
    """Minimum that GKE keeps even when nothing runs."""
    max: Annotated[int, Field(ge=1)]
    """Maximum, including what the stack's own pools use."""


class NodeAutoProvisioning(Model):
    """Lets GKE create its own node pools, within these limits."""

    cpu: Limit
    """Limit of CPU, in cores."""
    memory: Limit
    """Limit of memory, in GB."""
    accelerators: dict[str, Limit] = Field(default_factory=dict)
    """Limits of accelerators by type, such as nvidia-l4."""

    @property
    def limits(self) -> dict[str, Limit]:
        """The limits by resource type of GKE's API."""
        return {"cpu": self.cpu, "memory": self.memory, **self.accelerators}
