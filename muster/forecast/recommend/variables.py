"""Settings that may change in a stack file: `--vary TARGET=VALUES`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from math import prod
from typing import Any

from muster.forecast.recommend.errors import RecommendError

Value = int | float | None
Point = tuple[int, ...]
"""A candidate, by the position of its value in each variable."""

NUMBER = r"[0-9]+(?:\.[0-9]+)?"
RANGE = re.compile(rf"({NUMBER})\.\.({NUMBER})(?::({NUMBER}))?")
NONE = "none"
VALUES = "FROM..TO[:STEP] or a list such as 8,16,none"
TARGETS = """\
queues.QUEUE.FLAVOR                 nominal quota, in accelerators
queues.QUEUE.FLAVOR.borrowingLimit  in accelerators, or none
queues.QUEUE.FLAVOR.lendingLimit    in accelerators, or none
queues.QUEUE.weight                 weight of fair sharing
cohorts.COHORT...                   the same of a cohort
pools.POOL                          largest number of nodes (or TPU slices)"""


class Kind(StrEnum):
    """Keys of the stack file that a variable sets."""

    NOMINAL = "nominal"
    BORROWING = "borrowingLimit"
    LENDING = "lendingLimit"
    WEIGHT = "weight"
    UNITS = "max"


SECTIONS: Mapping[str, tuple[str, str]] = {
    "queues": ("muster:queues", "clusterQueues"),
    "cohorts": ("muster:queues", "cohorts"),
    "pools": ("muster:pools", ""),
}


@dataclass(frozen=True, slots=True)
class Variable:
    """One setting and the values that it may have. `index` is the position of its queue, cohort or pool in
    the stack file's list; `flavor` is empty for weights and pools."""

    section: str
    name: str
    index: int
    flavor: str
    kind: Kind
    values: tuple[Value, ...]

    @property
    def target(self) -> str:
        suffix = f".{self.kind}" if self.kind in (Kind.BORROWING, Kind.LENDING, Kind.WEIGHT) else ""
        return f"{self.section}.{self.name}{f'.{self.flavor}' if self.flavor else ''}{suffix}"


def entries(config: Mapping[str, Any], section: str) -> list[dict[str, Any]]:
    """Returns the queues, cohorts or pools of a stack file."""
    key, inner = SECTIONS[section]
    found: Any = config.get(key) or {}
    listed: list[dict[str, Any]] = found.get(inner, []) if inner else list(found)
    return listed


def parse_variables(texts: Iterable[str], config: Mapping[str, Any]) -> list[Variable]:
    """Reads all variables. Raises: RecommendError."""
    found: dict[str, Variable] = {}
    for text in texts:
        variable = parse_variable(text, config)
        if variable.target in found:
            raise RecommendError(f"--vary {text}: {variable.target} is given twice; expected once")
        found[variable.target] = variable
    if not found:
        raise RecommendError("nothing may change; give --vary TARGET=VALUES, as --help shows")
    return list(found.values())


def parse_variable(text: str, config: Mapping[str, Any]) -> Variable:
    """Reads `queues.a.h100=8..48:8`. Names may have dots, so they are looked up in the stack file.

    Raises: RecommendError."""
    target, sign, values = text.partition("=")
    section, _, rest = target.partition(".")
    if not (sign and rest and section in SECTIONS):
        raise RecommendError(f"--vary {text}: expected TARGET={VALUES}, with a TARGET such as\n{TARGETS}")
    listed = entries(config, section)
    owner = _longest(rest, [str(entry.get("name")) for entry in listed])
    if owner is None:
        names = ", ".join(str(entry.get("name")) for entry in listed) or "none is declared"
        raise RecommendError(f"--vary {text}: no such entry in {section}; expected one of: {names}")
    index = next(i for i, entry in enumerate(listed) if entry.get("name") == owner)
    flavor, kind = _setting(text, section, rest[len(owner) + 1 :], listed[index])
    return Variable(section, owner, index, flavor, kind, _values(text, values, kind))


def _setting(text: str, section: str, rest: str, entry: Mapping[str, Any]) -> tuple[str, Kind]:
    """Returns flavor and kind of what follows the name."""
    if section == "pools":
        if rest:
            raise RecommendError(f"--vary {text}: expected pools.POOL and no more")
        return "", Kind.UNITS
    if rest == Kind.WEIGHT:
        return "", Kind.WEIGHT
    quotas = entry.get("quotas") or {}
    flavor = _longest(rest, quotas)
    if flavor is None:
        raise RecommendError(
            f"--vary {text}: {entry['name']} has no quota of that flavor; expected weight, or one of its "
            f"flavors: {', '.join(quotas) or 'none'}"
        )
    accelerator_of(quotas[flavor], f"--vary {text}: {flavor}")
    limit = rest[len(flavor) + 1 :]
    if limit not in ("", Kind.BORROWING, Kind.LENDING):
        raise RecommendError(
            f"--vary {text}: {limit!r} is unknown; expected {Kind.BORROWING} or {Kind.LENDING}"
        )
    return flavor, Kind(limit) if limit else Kind.NOMINAL


def accelerator_of(quotas: Mapping[str, Any], where: str) -> str:
    """Returns the accelerator of a flavor's quotas, such as nvidia.com/gpu. Raises: RecommendError."""
    found = [resource for resource in quotas if "/" in resource]
    if len(found) != 1:
        raise RecommendError(
            f"{where}: expected a quota of one accelerator, such as nvidia.com/gpu; it has "
            f"{', '.join(quotas) or 'none'}"
        )
    return found[0]


def _longest(text: str, names: Iterable[str]) -> str | None:
    """Returns the longest of the names that `text` begins with, followed by a dot or its end."""
    found = [name for name in names if text == name or text.startswith(f"{name}.")]
    return max(found, key=len, default=None)


def _values(text: str, values: str, kind: Kind) -> tuple[Value, ...]:
    ranged = RANGE.fullmatch(values)
    if ranged:
        found: list[Value] = list(_range(text, *ranged.groups()))
    else:
        found = [_value(text, one.strip()) for one in values.split(",")]
    for value in found:
        if value is None and kind not in (Kind.BORROWING, Kind.LENDING):
            raise RecommendError(f"--vary {text}: only limits can be {NONE}; expected numbers")
        if isinstance(value, float) and kind is not Kind.WEIGHT:
            raise RecommendError(f"--vary {text}: {value:g} is not whole; only weights may have a fraction")
        if value == 0 and kind is Kind.UNITS:
            raise RecommendError(f"--vary {text}: a pool's largest size is at least 1")
    return tuple(dict.fromkeys(found))


def _range(text: str, first: str, last: str, step: str | None) -> Iterator[Value]:
    low, high, by = Decimal(first), Decimal(last), Decimal(step or 1)
    if by <= 0 or high < low:
        raise RecommendError(f"--vary {text}: expected FROM..TO with FROM <= TO and a STEP above 0")
    while low <= high:
        yield _number(low)
        low += by


def _value(text: str, value: str) -> Value:
    if value == NONE:
        return None
    if not re.fullmatch(NUMBER, value):
        raise RecommendError(f"--vary {text}: {value!r} is no value; expected {VALUES}")
    return _number(Decimal(value))


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def value_text(value: Value) -> str:
    return NONE if value is None else f"{value:g}"


def size(variables: Sequence[Variable]) -> int:
    """Returns the number of candidates of the whole grid."""
    return prod(len(variable.values) for variable in variables)
