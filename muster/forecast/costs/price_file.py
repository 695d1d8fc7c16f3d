"""Files of prices, for configurations without a stack file: YAML with the keys of muster:forecast.prices."""

from collections.abc import Callable, Mapping
from datetime import date
from math import inf
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from muster.files.errors import FileError
from muster.files.reading import read_text
from muster.files.yaml_documents import document
from muster.forecast.costs.prices import CURRENCY, Prices, declared_prices, is_day

BY_FLAVOR = "acceleratorHour"
EXAMPLE = "{currency: USD, date: 2026-11-26, source: contract 4711, acceleratorHour: {l4: 0.71}}"


def _is_currency(value: Any) -> bool:
    return isinstance(value, str) and CURRENCY.fullmatch(value) is not None


def _is_day(value: Any) -> bool:
    return isinstance(value, str) and is_day(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(flavor, str) for flavor in value)


def _is_price(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < inf


KEYS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "currency": (_is_currency, "three letters (ISO 4217), such as USD"),
    "date": (_is_day, "the day of the prices, such as 2026-11-26"),
    "source": (_is_text, "the origin of the prices, such as a price list or a contract"),
    BY_FLAVOR: (_is_mapping, "prices of an accelerator-hour by flavor, such as {l4: 0.71}"),
}
"""The check of each key, and the value that it expects."""


def read_prices(file: Path) -> Prices:
    """Reads a file of prices. Raises: FileError."""
    content = document(read_text(file, "prices in YAML"), str(file))
    if not isinstance(content, dict):
        raise FileError(f"{file}: expected a mapping, such as {EXAMPLE}")
    for key in content:
        if key not in KEYS:
            raise FileError(
                f"{file}: key {shortened(key)} is unknown; expected only {', '.join(KEYS)}, as in {EXAMPLE}"
            )
    values = {key: _as_text(value) for key, value in content.items()}
    for key, (is_valid, expected) in KEYS.items():
        if key not in values:
            raise FileError(f"{file}: no key {key}; add it: {expected}")
        if not is_valid(values[key]):
            raise FileError(f"{file}: {key} is {shortened(values[key])}; expected {expected}")
    for flavor, price in values[BY_FLAVOR].items():
        by_option = price if _is_mapping(price) else {"": price}
        for option, amount in by_option.items():
            if not _is_price(amount):
                where = f"{BY_FLAVOR}.{flavor}" + (f".{option}" if option else "")
                raise FileError(f"{file}: {where} is {shortened(amount)}; expected a number, 0 or more")
    return declared_prices(values[BY_FLAVOR], values["currency"], values["date"], values["source"])


def _as_text(value: Any) -> Any:
    """Returns days, which YAML reads as dates, as text."""
    return value.isoformat() if isinstance(value, date) else value
