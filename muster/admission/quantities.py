"""Converts Kubernetes quantities to exact integers in the model's units, and back.

The syntax is that of k8s.io/apimachinery/pkg/api/resource: decimal suffixes n u m k M G T P E, binary
suffixes Ki Mi Gi Ti Pi Ei, and exponents such as 2e3. All arithmetic is exact, without floats.
"""

import math
import re
from fractions import Fraction
from functools import lru_cache

from muster.admission.errors import QuantityError, QuantityTooLargeError

_FORM = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]+\.?[0-9]*|\.[0-9]+)"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?"
)
_LENGTH_MAX = 64  # of a text
_TEXTS_MAX = 4096  # cached
MAX = 2**63 - 1
"""The largest quantity, at which Kubernetes caps binary suffixes (resource.Quantity, maxAllowed). It permits
larger decimal quantities (1e400), which Muster rejects."""

_SMALL = {suffix: Fraction(1, 1000**power) for power, suffix in enumerate("mun", start=1)}
_LARGE = {suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)}
_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)}
_SCALES: dict[str, Fraction | int] = {**_SMALL, **_LARGE, **_BINARY, "": 1}

CPU = "cpu"
MILLI = 1000


@lru_cache(_TEXTS_MAX, typed=True)
def parse(resource: str, value: str | int | float) -> int:
    """Returns the quantity in the resource's unit: millicores for cpu, otherwise whole units.

    Fractions are rounded away from zero, as in Kueue's pkg/resources. Raises QuantityError, also for more
    than MAX.
    """
    return whole_units(resource, exact(resource, value))


def whole_units(resource: str, amount: Fraction) -> int:
    """Returns the amount in the resource's unit, rounded away from zero."""
    if resource == CPU:
        amount *= MILLI
    return math.ceil(amount) if amount.numerator >= 0 else math.floor(amount)


def units_max(resource: str) -> int:
    """Returns MAX in the resource's unit."""
    return MAX * MILLI if resource == CPU else MAX


def exact(what: str, value: str | int | float) -> Fraction:
    """Returns the number of a quantity, MAX at most. Raises QuantityError, which names `what`."""
    if isinstance(value, int) and abs(value) > MAX:  # Python refuses to format very large integers
        raise QuantityTooLargeError(what, value)
    text = value if isinstance(value, str) else str(value)
    amount = number(text) if len(text) <= _LENGTH_MAX and not isinstance(value, bool) else None
    if amount is None:
        raise QuantityError(what, value)
    if abs(amount) > MAX:
        raise QuantityTooLargeError(what, value)
    return amount


@lru_cache(_TEXTS_MAX)
def number(text: str) -> Fraction | None:
    """Returns the number of a quantity; None if it is invalid. Cached, as clusters repeat few quantities."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        return None
    amount = Fraction(match["digits"]) * _scale(match["suffix"] or "")
    return -amount if match["sign"] == "-" else amount


def _scale(suffix: str) -> Fraction | int:
    if suffix in _SCALES:
        return _SCALES[suffix]
    exponent = int(suffix[1:])
    return Fraction(10**exponent) if exponent >= 0 else Fraction(1, 10**-exponent)


def format(resource: str, units: int) -> str:
    """Returns the shortest exact text: cores or millicores for cpu, Ki/Mi/Gi… for bytes, otherwise a
    number."""
    if resource == CPU:
        return f"{units}m" if units % MILLI else str(units // MILLI)
    if units and _counts_bytes(resource):
        for suffix, scale in reversed(_BINARY.items()):
            if units % scale == 0:
                return f"{units // scale}{suffix}"
    return str(units)


def _counts_bytes(resource: str) -> bool:
    return resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")


def in_api_unit(resource: str, amount: int) -> float:
    """Converts an amount to Kubernetes' unit of the resource, as the core counts cpu in thousandths."""
    return amount / 1000 if resource == "cpu" else amount
