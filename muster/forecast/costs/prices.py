"""Prices of accelerators, with their date and source."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

Price = float | Mapping[Any, float]
"""A price of an accelerator-hour, or one for each option."""

CURRENCY = re.compile("[A-Z]{3}")
"""A currency's code (ISO 4217)."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of an accelerator-hour by flavor; `by_option` has flavors whose price depends on how they are
    bought (`provisioning` of the pool)."""

    by_flavor: Mapping[str, float] = field(default_factory=dict)
    currency: str = ""
    date: str = ""  # YYYY-MM-DD
    source: str = ""
    by_option: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_flavor or self.by_option)

    @property
    def flavors(self) -> frozenset[str]:
        """The flavors with a price."""
        return frozenset((*self.by_flavor, *self.by_option))

    def bought(self, options: Mapping[str, str]) -> "Prices":
        """Returns the prices of flavors that are bought as in `options`. A flavor without a price of its
        option has none."""
        own = {
            flavor: prices[options[flavor]]
            for flavor, prices in self.by_option.items()
            if options.get(flavor) in prices
        }
        return replace(self, by_flavor={**self.by_flavor, **own}, by_option={})

    @property
    def described(self) -> str:
        """The sentence for reports: currency, date and source."""
        return f"prices are in {self.currency} per accelerator-hour of {self.date}, {self.source}"


def declared_prices(by_flavor: Mapping[str, Price], currency: str, date: str, source: str) -> Prices:
    """Returns the prices of flavors that have a price, or one for each option."""
    return Prices(
        {flavor: price for flavor, price in by_flavor.items() if not isinstance(price, Mapping)},
        currency,
        date,
        source,
        {flavor: price for flavor, price in by_flavor.items() if isinstance(price, Mapping)},
    )


def is_day(text: str) -> bool:
    """Returns whether the text is a day as YYYY-MM-DD; `date.fromisoformat` also accepts 20261126."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
