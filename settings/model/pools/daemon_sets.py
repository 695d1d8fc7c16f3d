"""Requests of DaemonSets, which run on every node of a pool in addition to queued pods."""

from collections.abc import Mapping
from fractions import Fraction

from settings.model.base import Model, Quantity, amount


class DaemonSets(Model):
    """Requests of the DaemonSets' pods on one node. The defaults are an estimate of GKE's own (network, logs,
    metrics, drivers); `kubectl describe node` shows the real ones."""

    cpu: Quantity = "400m"
    """CPU of all of them, in cores."""
    memory: Quantity = "700Mi"
    """Memory of all of them."""
    pods: Quantity = "12"
    """Number of pods."""

    @property
    def requests(self) -> Mapping[str, Fraction]:
        return {resource: amount(quantity) for resource, quantity in self.model_dump().items()}
