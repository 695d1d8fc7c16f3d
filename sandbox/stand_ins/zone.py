"""The capacity and speed of the simulated zone, which tests set in ConfigMap kube-system/sandbox-zone.

Keys, for a pool `l4`: `l4.nodes`, the total number of nodes (default: the pool's maximum); `l4.seconds`, the
duration of the creation of nodes (default: 1); `l4.stockout: fail`, so that a request that does not fit ends
with Failed/OutOfCapacity (default: it waits).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.stand_ins.capacity import NodeShape

CONFIG_MAP = ("kube-system", "sandbox-zone")
CREATION_SECONDS = 1.0

log = logging.getLogger("provisioner")


@dataclass(frozen=True)
class Zone:
    """The ConfigMap's data; a value that is not a number is logged and replaced by the default."""

    data: Mapping[str, str] = field(default_factory=dict)

    def nodes_max(self, shape: NodeShape) -> int:
        """Returns the total number of nodes that the zone has for the pool."""
        return int(self._number(f"{shape.pool}.nodes", shape.nodes_max))

    def creation_seconds(self, shape: NodeShape) -> float:
        """Returns the duration of the creation of nodes, regardless of their number."""
        return self._number(f"{shape.pool}.seconds", CREATION_SECONDS)

    def fails_when_out(self, shape: NodeShape) -> bool:
        """Returns whether a request that does not fit fails instead of waiting."""
        return self.data.get(f"{shape.pool}.stockout") == "fail"

    def _number(self, name: str, default: float) -> float:
        text = self.data.get(name)
        if text is None:
            return default
        try:
            return float(text)
        except ValueError:
            where = "/".join(CONFIG_MAP)
            log.error("ConfigMap %s: %s: expected a number, got %r; using %s", where, name, text, default)
            return default
