"""Exact values of Kubernetes quantities."""

from fractions import Fraction

import pytest

from settings.model.base import amount

AMOUNTS = {
    "0": Fraction(0),
    "4": Fraction(4),
    "-1": Fraction(-1),
    "0.5": Fraction(1, 2),
    "500m": Fraction(1, 2),
    "2k": Fraction(2000),
    "3M": Fraction(3 * 10**6),
    "1Ki": Fraction(1024),
    "16Gi": Fraction(16 * 2**30),
    "1.5Ti": Fraction(3 * 2**39),
    "1E": Fraction(10**18),
}


@pytest.mark.parametrize(("quantity", "exact"), AMOUNTS.items(), ids=AMOUNTS.keys())
def test_quantity_has_its_exact_value(quantity: str, exact: Fraction) -> None:
    assert amount(quantity) == exact


@pytest.mark.parametrize("text", ["", "Gi", "1 Gi", "1gi", "1Ei2", "1e3", "0x1", "one"])
def test_text_that_is_not_a_quantity_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a Kubernetes quantity"):
        amount(text)
