"""Prices of accelerators, with their date and source."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

CURRENCY = re.compile("[A-Z]{3}")
"""A currency's code (ISO 4217)."""


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
        """The sentence for reports: currency, date and source."""
        return f"prices are in {self.currency} per accelerator-hour of {self.date}, {self.source}"


def is_day(text: str) -> bool:
    """Returns whether the text is a day as YYYY-MM-DD; `date.fromisoformat` also accepts 20261126."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
