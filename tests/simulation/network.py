"""What is wrong between the controller and the API server for the time being."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from muster.kube.kinds import Kind
from muster.kube.writes import Write
from tests.simulation.api import Refused

AFTER_COMMIT = 504  # the gateway gave up waiting: the write was made


@dataclass(frozen=True)
class Outage:
    """Requests answered with `code`: this share of those about the kind (any if None), until then.

    `about` restricts it to keys that start so."""

    code: int
    share: float
    until_ms: int
    about: str = ""


@dataclass
class Network:
    """`lag_s` delays watch events until `lag_until_ms`; `silenced_ms` is when the watches of each kind last
    fell silent: one opened before says nothing ever again, as a connection whose packets are dropped."""

    now_ms: Callable[[], int]
    outages: list[Outage] = field(default_factory=list)
    lag_s: float = 0.0
    lag_until_ms: int = 0
    silenced_ms: dict[Kind[Any], int] = field(default_factory=dict)

    def heal(self) -> None:
        self.outages.clear()
        self.lag_s = 0.0

    def refusal(self, random: Random, write: Write | None = None) -> Refused | None:
        """The answer that a request gets instead of being carried out (AFTER_COMMIT: although it was)."""
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
