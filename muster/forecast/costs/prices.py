"""Prices of accelerators, with their date and source."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of an accelerator-hour by flavor."""

    by_flavor: Mapping[str, float] = field(default_factory=dict)
    currency: str = ""
    date: str = ""  # YYYY-MM-DD
    source: str = ""

    def __bool__(self) -> bool:
        return bool(self.by_flavor)

    @property
    def described(self) -> str:
        """The currency, date and source."""
        return f"{self.currency} per accelerator-hour of {self.date}, {self.source}"
