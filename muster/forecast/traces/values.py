"""Parses and checks values of traces: times, durations, amounts. Errors name the expected value."""

import math
from datetime import UTC, datetime
from fractions import Fraction

from muster.admission import QuantityError, quantities
from muster.forecast.traces.rows import RowError
from muster.objects.kueue import PODS_MAX

SECOND = 1_000  # ms
TIME_MAX_MS = 10**15  # 30,000 years: sums of such times fit into 64 bits
ABSENT = frozenset(
    ("", "-", "None", "none", "NULL", "Null", "null", "NaN", "nan", "NaT", "N/A", "Unknown", "unknown")
)
"""Texts that mean a missing value."""

_SHOWN_MAX = 40
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_WITHOUT_ZONE = datetime(1970, 1, 1)


def shown(text: str) -> str:
    """Returns the text in quotes, truncated if it is long."""
    return repr(text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…")


def millis(name: str, text: str, unit_ms: int = SECOND) -> int:
    """Returns a number of units in whole milliseconds."""
    try:
        value = int(text) * unit_ms
    except ValueError:
        number = _finite(name, text)
        value = round(number * unit_ms) if abs(number) <= TIME_MAX_MS else TIME_MAX_MS + 1
    return _in_range(name, text, value)


def unix_ms(name: str, text: str) -> int:
    """Returns a time in ISO 8601 as milliseconds since 1970. A time without a zone is read as UTC: the zone
    of a log is rarely known, and only differences matter."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        problem = f"{name} is {shown(text)}: expected a time in ISO 8601, such as 2026-03-01T09:30:00"
        raise RowError(problem) from None
    passed = time - (_EPOCH if time.tzinfo else _EPOCH_WITHOUT_ZONE)
    return (passed.days * 86_400 + passed.seconds) * SECOND + passed.microseconds // SECOND


def count(name: str, text: str) -> int:
    """Returns a whole number of pods, nodes or processors, 1 or more. Some traces write `2.0`."""
    try:
        value = int(text)
    except ValueError:
        number = _finite(name, text)
        value = int(number)
        if value != number:
            raise RowError(f"{name} is {shown(text)}: expected a whole number") from None
    if not 1 <= value <= PODS_MAX:
        raise RowError(f"{name} is {shown(text)}: expected 1 to {PODS_MAX:,}")
    return value


def amount(name: str, text: str, unit: str = "") -> Fraction:
    """Returns an amount of a resource in cores, bytes or pieces. `unit` is a suffix of Kubernetes quantities
    that the text omits, or `%`."""
    try:
        exact = quantities.exact(name, f"{text.strip()}{'' if unit == '%' else unit}")
    except QuantityError as problem:
        raise RowError(str(problem)) from None
    if exact < 0:
        raise RowError(f"{name} is {shown(text)}: expected 0 or more")
    return exact / 100 if unit == "%" else exact


def of_each_pod(resource: str, total: Fraction, pods: int) -> tuple[int, bool]:
    """Returns the request of each of `pods` pods in the core's units, and whether it was rounded up."""
    exact = total * (quantities.MILLI if resource == quantities.CPU else 1) / pods
    units = math.ceil(exact)
    if units > quantities.units_max(resource):
        raise RowError(f"{resource} is {units:,} for each pod: expected at most 2^63")
    return units, units != exact


def duration(name: str, start_ms: int, end_ms: int, start: str, end: str) -> int:
    """Returns the time between two events. Raises: RowError if they are in the wrong order."""
    if end_ms < start_ms:
        late = (start_ms - end_ms) / SECOND
        raise RowError(f"{name} is negative: {end} is {late:g} s before {start}")
    return end_ms - start_ms


def not_negative(name: str, value_ms: int) -> int:
    """Returns the value. Raises: RowError if it is negative."""
    if value_ms < 0:
        raise RowError(f"{name} is {value_ms / SECOND:g} s: expected 0 or more")
    return value_ms


def _finite(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise RowError(f"{name} is {shown(text)}: expected a number")
    return value


def _in_range(name: str, text: str, value_ms: int) -> int:
    if not -TIME_MAX_MS <= value_ms <= TIME_MAX_MS:
        raise RowError(f"{name} is {shown(text)}: expected at most {TIME_MAX_MS // SECOND:,} s")
    return value_ms
