import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission import QuantityError, quantities
from tests.unit.admission.strategies import PROPERTY

PARSED = {
    "whole cores": ("cpu", "2", 2000),
    "millicores": ("cpu", "500m", 500),
    "decimal cores": ("cpu", "1.5", 1500),
    "nanocores round up": ("cpu", "1n", 1),
    "microcores round up": ("cpu", "1500u", 2),
    "a number from YAML": ("cpu", 4, 4000),
    "a float from YAML": ("cpu", 0.1, 100),
    "exact where floats are not": ("cpu", "0.0011", 2),
    "bytes": ("memory", "128974848", 128974848),
    "Ki": ("memory", "1Ki", 1024),
    "Mi": ("memory", "123Mi", 123 * 2**20),
    "fraction of Gi": ("memory", "1.5Gi", 3 * 2**29),
    "Ei": ("memory", "1Ei", 2**60),
    "k": ("memory", "1k", 1000),
    "M": ("memory", "129M", 129 * 10**6),
    "E is exa": ("memory", "1E", 10**18),
    "E with digits is an exponent": ("memory", "1E3", 1000),
    "e is an exponent": ("memory", "129e6", 129 * 10**6),
    "negative exponent rounds up": ("memory", "1e-1", 1),
    "negative exponent": ("cpu", "25e-2", 250),
    "positive exponent sign": ("memory", "2e+2", 200),
    "millis of bytes round up": ("memory", "1500m", 2),
    "devices": ("nvidia.com/gpu", "8", 8),
    "plus sign": ("pods", "+3", 3),
    "negative rounds away from zero": ("cpu", "-0.0001", -1),
    "leading point": ("cpu", ".5", 500),
    "trailing point": ("cpu", "1.", 1000),
    "spaces around": ("cpu", " 1 ", 1000),
    "zero": ("memory", "0Gi", 0),
}
REFUSED = {
    "empty": "",
    "no digits": "Gi",
    "lone point": ".",
    "unknown suffix": "1GB",
    "lower-case exa suffix": "1ei",
    "two numbers": "1 2",
    "exponent without digits": "1e",
    "huge exponent": "1e1000",
    "not finite": float("inf"),
    "a boolean": True,
}
# the text that a message has instead of a very long quantity
TOO_LARGE: dict[str, tuple[str, str | int | float, str]] = {
    "beyond any float": ("memory", "1e400", "'1e400'"),
    "the same, negative": ("memory", "-1e400", "'-1e400'"),
    "one more than int64": ("memory", "9223372036854775808", "'9223372036854775808'"),
    "the same as a number": ("memory", 2**63, "9223372036854775808"),
    "8Ei": ("memory", "8Ei", "'8Ei'"),
    "cores": ("cpu", "10E", "'10E'"),
    "a float": ("memory", 1e300, "1e+300"),
    "a number longer than Python would write": ("memory", 10**5000, "a number of 16610 bits"),
}
TOO_LONG = {"digits": "1" * 65, "digits without end": "1" * 1_000_000, "spaces": " " * 1_000_000}
LARGEST = {"memory": ("9223372036854775807", 2**63 - 1), "cpu": ("9223372036854775807", 1000 * (2**63 - 1))}
FORMATTED = {
    "cores": ("cpu", 4000, "4"),
    "fractional cores": ("cpu", 1500, "1500m"),
    "no cores": ("cpu", 0, "0"),
    "Gi": ("memory", 2**31, "2Gi"),
    "Mi where Gi is not exact": ("memory", 3 * 2**29, "1536Mi"),
    "Ki": ("memory", 1024, "1Ki"),
    "bytes where nothing is exact": ("memory", 1000, "1000"),
    "no bytes": ("memory", 0, "0"),
    "disk": ("ephemeral-storage", 2**40, "1Ti"),
    "huge pages": ("hugepages-2Mi", 2**21, "2Mi"),
    "devices count plainly": ("nvidia.com/gpu", 1024, "1024"),
}


@pytest.mark.parametrize(("resource", "text", "units"), PARSED.values(), ids=PARSED.keys())
def test_text_is_parsed_to_units(resource: str, text: str | int | float, units: int) -> None:
    assert quantities.parse(resource, text) == units


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_parse_names_what_it_refuses(text: str | float) -> None:
    with pytest.raises(QuantityError) as refused:
        quantities.parse("memory", text)
    assert repr(text) in str(refused.value)
    assert "memory" in str(refused.value)


@pytest.mark.parametrize(("resource", "text", "shown"), TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_parse_refuses_what_can_not_be_counted(resource: str, text: str | int | float, shown: str) -> None:
    with pytest.raises(QuantityError, match=r"at most 9223372036854775807 \(2\^63 - 1\)") as refused:
        quantities.parse(resource, text)
    assert str(refused.value).startswith(f"{shown} is not a quantity of {resource}: ")


@pytest.mark.parametrize("text", TOO_LONG.values(), ids=TOO_LONG.keys())
def test_long_text_is_refused_in_a_few_words(text: str) -> None:
    with pytest.raises(QuantityError) as refused:
        quantities.parse("memory", text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("resource", LARGEST)
def test_largest_quantity_is_exact(resource: str) -> None:
    text, units = LARGEST[resource]
    assert quantities.parse(resource, text) == units
    assert float(units) < 1e22


@pytest.mark.parametrize(("resource", "units", "text"), FORMATTED.values(), ids=FORMATTED.keys())
def test_units_are_formatted_in_the_shortest_exact_text(resource: str, units: int, text: str) -> None:
    assert quantities.format(resource, units) == text


@PROPERTY
@given(st.sampled_from(("cpu", "memory", "nvidia.com/gpu")), st.integers(1 - 2**63, 2**63 - 1))
def test_format_is_read_back_exactly(resource: str, units: int) -> None:
    assert quantities.parse(resource, quantities.format(resource, units)) == units


SHOWN = {
    "a text that is short enough": ("x" * 64, repr("x" * 64)),
    "a text that is too long": ("x" * 65, f"'{'x' * 63}…"),
    "a number that is short enough": (2**200, str(2**200)),
    "a number that is too long": (2**256, "a number of 257 bits"),
}


@pytest.mark.parametrize(("text_or_number", "shown"), SHOWN.values(), ids=SHOWN.keys())
def test_a_message_shows_the_beginning_of_what_is_refused(text_or_number: str | int, shown: str) -> None:
    assert str(QuantityError("memory", text_or_number)).startswith(f"{shown} is not a quantity of memory")
