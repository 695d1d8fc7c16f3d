"""Targets of Muster in each configuration, next to the figures of Kueue in the same rounds."""

import operator
from dataclasses import dataclass
from typing import Literal

_TESTS = {"<": operator.lt, "<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True)
class Target:
    """A bound of Muster's share of Kueue's value, or of Muster's value itself."""

    test: Literal["<", "<=", ">="]
    bound: float
    of_ratio: bool = True

    def met(self, muster: float, kueue: float) -> bool:
        """Returns whether it is reached; as a product, because Kueue's value may be zero."""
        return bool(_TESTS[self.test](muster, self.bound * kueue if self.of_ratio else self.bound))

    def __str__(self) -> str:
        return f"{self.test} {self.bound:g}" if self.of_ratio else f"{self.test} {self.bound:.0%}"


WALL, USAGE, CPU, RSS, API_CPU = "wall", "queue usage", "engine CPU", "engine RSS", "API server CPU"


def wait(name: str) -> str:
    """The figure of a class of workloads."""
    return f"mean time to admission, {name}"


_COSTS = {CPU: Target("<=", 0.5), RSS: Target("<=", 0.25), API_CPU: Target("<=", 0.7)}
TARGETS: dict[str, dict[str, Target]] = {
    "small": {},
    "burst": {},
    "baseline": {
        WALL: Target("<=", 0.5),
        wait("large"): Target("<", 1),
        wait("medium"): Target("<", 1),
        wait("small"): Target("<=", 0.5),  # the load itself takes 0.38, with an engine that needs no CPU
        USAGE: Target(">=", 0.85, of_ratio=False),
        **_COSTS,
    },
    "large-scale": {
        WALL: Target("<=", 0.5),
        **{wait(name): Target("<", 1) for name in ("large", "medium", "small")},
        USAGE: Target(">=", 0.75, of_ratio=False),
        **_COSTS,
    },
    "tas": {},
}
