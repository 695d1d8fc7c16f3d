"""Files of prices: YAML with the keys of muster:forecast.prices."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from muster.files.errors import FileError
from muster.forecast.costs.price_file import EXAMPLE, KEYS, read_prices
from muster.forecast.costs.prices import Prices
from settings.model.forecast import Prices as DeclaredPrices

VALID: Mapping[str, tuple[str, Prices]] = {
    "the example of the messages": (EXAMPLE, Prices({"l4": 0.71}, "USD", "2026-11-26", "contract 4711")),
    "prices by option": (
        EXAMPLE.replace("0.71", "{spot: 0.28, on-demand: 0.71}"),
        Prices({}, "USD", "2026-11-26", "contract 4711", {"l4": {"spot": 0.28, "on-demand": 0.71}}),
    ),
    "quoted days, free and whole prices": (
        "currency: EUR\ndate: '2026-01-02'\nsource: list\nacceleratorHour:\n  l4: 0\n  h100: 3\n",
        Prices({"l4": 0, "h100": 3}, "EUR", "2026-01-02", "list"),
    ),
}
INVALID: Mapping[str, tuple[str, str, str]] = {
    "an empty file": (EXAMPLE, "", "expected a mapping, such as {currency: USD"),
    "a list": (EXAMPLE, "[1]", "expected a mapping, such as {currency: USD"),
    "no YAML": (EXAMPLE, "{", "expected valid YAML"),
    "no currency": ("currency: USD, ", "", "no key currency; add it: three letters"),
    "no flavors": ("{l4: 0.71}", "{}", "acceleratorHour is {}; expected prices of an accelerator-hour"),
    "flavors that are no text": ("{l4:", "{4:", "acceleratorHour is {4: 0.71}; expected prices of an"),
    "an unknown key": ("source:", "origin: x, source:", "key 'origin' is unknown; expected only currency, "),
    "a symbol as currency": ("USD", "$", "currency is '$'; expected three letters (ISO 4217), such as USD"),
    "no day": ("2026-11-26", "November", "date is 'November'; expected the day of the prices"),
    "a day without dashes": ("2026-11-26", "'20261126'", "date is '20261126'; expected the day"),
    "a time": ("2026-11-26", "2026-11-26 10:00:00", "date is '2026-11-26T10:00:00'; expected the day"),
    "a blank source": ("contract 4711", "' '", "source is ' '; expected the origin of the prices"),
    "a source that is a number": ("contract 4711", "4711", "source is 4711; expected the origin"),
    "a price with a unit": ("0.71", "$0.71", "acceleratorHour.l4 is '$0.71'; expected a number, 0 or more"),
    "a negative price": ("0.71", "-1", "acceleratorHour.l4 is -1; expected a number, 0 or more"),
    "a price of an option with a unit": (
        "0.71",
        "{spot: $1}",
        "acceleratorHour.l4.spot is '$1'; expected a number, 0 or more",
    ),
    "no option": ("0.71", "{}", "acceleratorHour.l4 is {}; expected a number, 0 or more"),
    "an infinite price": ("0.71", ".inf", "acceleratorHour.l4 is inf; expected a number, 0 or more"),
    "a price that is no number": ("0.71", ".nan", "acceleratorHour.l4 is nan; expected a number"),
    "a truth value": ("0.71", "true", "acceleratorHour.l4 is True; expected a number, 0 or more"),
}
"""The part of the example that is replaced, its replacement, and the message."""


@pytest.mark.parametrize("name", VALID)
def test_prices_are_read(name: str, tmp_path: Path) -> None:
    text, expected = VALID[name]
    (file := tmp_path / "prices.yaml").write_text(text)
    assert read_prices(file) == expected


@pytest.mark.parametrize("name", INVALID)
def test_wrong_prices_are_explained(name: str, tmp_path: Path) -> None:
    part, replacement, message = INVALID[name]
    assert part in EXAMPLE
    (file := tmp_path / "prices.yaml").write_text(EXAMPLE.replace(part, replacement))
    with pytest.raises(FileError) as error:
        read_prices(file)
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)


def test_the_keys_are_those_of_stack_files() -> None:
    assert [*KEYS] == [field.alias or name for name, field in DeclaredPrices.model_fields.items()]
