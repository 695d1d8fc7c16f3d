"""Upgrade strategies of a pool's nodes."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.model.base import Model, refuse


class Upgrade(Model):
    """How GKE upgrades nodes: a few at a time (surge), or by a second set of nodes (blue-green)."""

    strategy: Literal["surge", "blue-green"] = "surge"
    """`blue-green` needs capacity for a second set of nodes; compact pools do not support it."""
    max_surge: Annotated[int, Field(ge=0)] = 1
    """Nodes added at a time before others are removed."""
    max_unavailable: Annotated[int, Field(ge=0)] = 0
    """Nodes that may be unavailable at a time."""
    soak_seconds: Annotated[int, Field(ge=0, le=7 * 24 * 3600)] = 3600
    """How long `blue-green` keeps the drained old nodes for a rollback."""

    @model_validator(mode="after")
    def _some_node_moves(self) -> Self:
        if self.strategy == "surge" and not self.max_surge + self.max_unavailable:
            refuse(
                "maxSurge or maxUnavailable of 1 or more (GKE API: UpgradeSettings)",
                "raise one of them",
            )
        return self
