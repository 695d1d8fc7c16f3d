"""How GKE replaces a pool's nodes when it upgrades them."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.model.base import Model, refuse


class Upgrade(Model):
    """Nodes added and taken away at a time (surge), or a second set of nodes (blue-green)."""

    strategy: Literal["surge", "blue-green"] = "surge"
    """`blue-green` needs room for a second set of nodes, and compact pools can't have it."""
    max_surge: Annotated[int, Field(ge=0)] = 1
    """Nodes that are added before others go, at a time."""
    max_unavailable: Annotated[int, Field(ge=0)] = 0
    """Nodes that may be missing, at a time."""
    soak_seconds: Annotated[int, Field(ge=0, le=7 * 24 * 3600)] = 3600
    """How long blue-green keeps the old nodes, emptied, for the way back."""

    @model_validator(mode="after")
    def _some_node_moves(self) -> Self:
        if self.strategy == "surge" and not self.max_surge + self.max_unavailable:
            refuse(
                "maxSurge or maxUnavailable of 1 or more (GKE API: UpgradeSettings)",
                "raise one of them",
            )
        return self
