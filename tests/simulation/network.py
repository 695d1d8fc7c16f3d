"""Current faults between the controller and the API server."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from muster.kube.kinds import Kind
from muster.kube.writes import Write
from tests.simulation.api import Refused

AFTER_COMMIT = 504  # gateway timeout after the commit


@dataclass(frozen=True)
class Outage:
    """An error answer `code` for this share of requests about the kind (any if None), until a time.

    `about` restricts it to keys with this prefix."""

    code: int
    share: float
    until_ms: int
    about: str = ""


@dataclass
class Network:
    """Faults of the network.

    `lag_s` delays watch events until `lag_until_ms`; `silenced_ms` is when the watches of each kind last fell
    silent: watches opened before send no events, like a connection with dropped packets.
    """

    now_ms: Callable[[], int]
    outages: list[Outage] = field(default_factory=list)
    lag_s: float = 0.0
    lag_until_ms: int = 0
    silenced_ms: dict[Kind[Any], int] = field(default_factory=dict)

    def heal(self) -> None:
        self.outages.clear()
        self.lag_s = 0.0

    def refusal(self, random: Random, write: Write | None = None) -> Refused | None:
        """Returns the error that answers a request instead of its execution (AFTER_COMMIT: after it)."""
        for outage in self.outages:
            key = write.key if write is not None else ""
            active = self.now_ms() < outage.until_ms and key.startswith(outage.about)
            if active and random.random() < outage.share:
                return Refused(outage.code, f"emulated answer {outage.code}")
        return None

    def lag(self, usual_s: float) -> float:
        return max(usual_s, self.lag_s) if self.now_ms() < self.lag_until_ms else usual_s

    def is_silent(self, kind: Kind[Any], opened_ms: int) -> bool:
        return opened_ms < self.silenced_ms.get(kind, 0)
