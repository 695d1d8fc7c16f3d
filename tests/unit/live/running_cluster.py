"""An API server with running and pending workloads."""

from collections.abc import Mapping
from typing import Any

from muster.kube.kinds import Kind
from tests.unit.live.listing import Listing


class Running(Listing):
    """A cluster that a command asks, and the kubeconfig that it is asked through."""

    def __init__(self, objects: Mapping[Kind[Any], list[dict[str, Any]]], **codes: int) -> None:
        super().__init__(objects, **codes)
        self.kubeconfig: str | None = ""
        self.context: str | None = ""
        self.closed = False

    def __call__(self, kubeconfig: str | None, *, context: str | None) -> "Running":
        self.kubeconfig, self.context = kubeconfig, context
        return self

    async def close(self) -> None:
        self.closed = True
