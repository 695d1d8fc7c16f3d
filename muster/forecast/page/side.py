"""The forecast of a configuration, as the page shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.forecast.results.outcome import SimulationOutcome


@dataclass(frozen=True, slots=True)
class ForecastSide:
    """One configuration and its simulated futures, at least one.

    The page draws the first future; the others give the ranges in its tables and around its usage. With two
    sides, futures at the same position have the same seed, so their differences are paired."""

    name: str
    outcomes: Sequence[SimulationOutcome]

    @property
    def drawn(self) -> SimulationOutcome:
        """The future that the charts draw."""
        return self.outcomes[0]
