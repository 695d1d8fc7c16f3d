"""Settings of a stack file that may vary: `--vary TARGET=VALUES`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from math import prod
from typing import Any

from muster.forecast.recommend.errors import RecommendError

Value = int | float | str | None
Point = tuple[int, ...]
"""A candidate as the position of its value in each variable."""

NUMBER = r"[0-9]+(?:\.[0-9]+)?"
RANGE = re.compile(rf"({NUMBER})\.\.({NUMBER})(?::({NUMBER}))?")
NONE = "none"
VALUES = "FROM..TO[:STEP] or a list such as 8,16,none"
TARGETS = """\
queues.QUEUE.FLAVOR                 nominal quota, in accelerators
queues.QUEUE.FLAVOR.borrowingLimit  in accelerators, or none
queues.QUEUE.FLAVOR.lendingLimit    in accelerators, or none
queues.QUEUE.weight                 weight of fair sharing
cohorts.COHORT...                   the same for a cohort
pools.POOL                          maximum number of nodes (or TPU slices)
pools.POOL.provisioning             how it is bought: a list such as reserved,spot,on-demand"""


class VariableKind(StrEnum):
    """Keys of the stack file that a variable sets."""

    NOMINAL = "nominal"
    BORROWING = "borrowingLimit"
    LENDING = "lendingLimit"
    WEIGHT = "weight"
    UNITS = "max"
    PROVISIONING = "provisioning"


OPTIONS = ("on-demand", "spot", "reserved", "flex-start", "queued")
"""Ways to buy the nodes of a pool."""
SECTIONS: Mapping[str, tuple[str, str]] = {
    "queues": ("muster:queues", "clusterQueues"),
    "cohorts": ("muster:queues", "cohorts"),
    "pools": ("muster:pools", ""),
}


@dataclass(frozen=True, slots=True)
class Variable:
    """A setting and the values to try."""

    section: str
    name: str
    index: int  # of its queue, cohort or pool in the stack file's list
    flavor: str  # empty for weights and pools
    kind: VariableKind
    values: tuple[Value, ...]

    @property
    def target(self) -> str:
        """The part of the configuration that it changes, such as `queues.team-a.l4.borrowing`."""
        suffix = f".{self.kind}" if self.kind not in (VariableKind.NOMINAL, VariableKind.UNITS) else ""
        return f"{self.section}.{self.name}{f'.{self.flavor}' if self.flavor else ''}{suffix}"


def entries(config: Mapping[str, Any], section: str) -> list[dict[str, Any]]:
    """Returns the queues, cohorts or pools of a stack file."""
    key, inner = SECTIONS[section]
    settings: Any = config.get(key) or {}
    listed: list[dict[str, Any]] = settings.get(inner, []) if inner else list(settings)
    return listed


def parse_variables(texts: Iterable[str], config: Mapping[str, Any]) -> list[Variable]:
    """Parses all variables. Raises: RecommendError."""
    by_target: dict[str, Variable] = {}
    for text in texts:
        variable = parse_variable(text, config)
        if variable.target in by_target:
            raise RecommendError(f"--vary {text}: {variable.target} is given twice; expected once")
        by_target[variable.target] = variable
    if not by_target:
        raise RecommendError("nothing to vary; give --vary TARGET=VALUES, as --help shows")
    return list(by_target.values())


def parse_variable(text: str, config: Mapping[str, Any]) -> Variable:
    """Parses `queues.a.h100=8..48:8`. Names may contain dots, so they are looked up in the stack file.

    Raises: RecommendError."""
    target, sign, values = text.partition("=")
    section, _, path = target.partition(".")
    if not (sign and path and section in SECTIONS):
        raise RecommendError(f"--vary {text}: expected TARGET={VALUES}, with a TARGET such as\n{TARGETS}")
    listed = entries(config, section)
    owner = _longest(path, [str(entry.get("name")) for entry in listed])
    if owner is None:
        names = ", ".join(str(entry.get("name")) for entry in listed) or "none is declared"
        raise RecommendError(f"--vary {text}: no such entry in {section}; expected one of: {names}")
    index = next(i for i, entry in enumerate(listed) if entry.get("name") == owner)
    flavor, kind = _setting(text, section, path[len(owner) + 1 :], listed[index])
    return Variable(section, owner, index, flavor, kind, _values(text, values, kind))


def _setting(text: str, section: str, path: str, entry: Mapping[str, Any]) -> tuple[str, VariableKind]:
    """Returns the flavor and kind in the part of the target after the name."""
    if section == "pools":
        if path not in ("", VariableKind.PROVISIONING):
            raise RecommendError(f"--vary {text}: expected pools.POOL or pools.POOL.provisioning")
        return "", VariableKind(path) if path else VariableKind.UNITS
    if path == VariableKind.WEIGHT:
        return "", VariableKind.WEIGHT
    quotas = entry.get("quotas") or {}
    flavor = _longest(path, quotas)
    if flavor is None:
        raise RecommendError(
            f"--vary {text}: {entry['name']} has no quota of that flavor; expected weight, or one of its "
            f"flavors: {', '.join(quotas) or 'none'}"
        )
    accelerator_of(quotas[flavor], f"--vary {text}: {flavor}")
    limit = path[len(flavor) + 1 :]
    if limit not in ("", VariableKind.BORROWING, VariableKind.LENDING):
        raise RecommendError(
            f"--vary {text}: {limit!r} is unknown; "
            f"expected {VariableKind.BORROWING} or {VariableKind.LENDING}"
        )
    return flavor, VariableKind(limit) if limit else VariableKind.NOMINAL


def accelerator_of(quotas: Mapping[str, Any], where: str) -> str:
    """Returns the accelerator of a flavor's quotas, such as nvidia.com/gpu. Raises: RecommendError."""
    accelerators = [resource for resource in quotas if "/" in resource]
    if len(accelerators) != 1:
        raise RecommendError(
            f"{where}: expected a quota of one accelerator, such as nvidia.com/gpu; it has "
            f"{', '.join(quotas) or 'none'}"
        )
    return accelerators[0]


def _longest(text: str, names: Iterable[str]) -> str | None:
    """Returns the longest of the names that `text` begins with, followed by a dot or its end."""
    matches = [name for name in names if text == name or text.startswith(f"{name}.")]
    return max(matches, key=len, default=None)


def _values(text: str, values: str, kind: VariableKind) -> tuple[Value, ...]:
    if kind is VariableKind.PROVISIONING:
        return _options(text, values)
    ranged = RANGE.fullmatch(values)
    if ranged:
        parsed: list[Value] = list(_range(text, *ranged.groups()))
    else:
        parsed = [_value(text, item.strip()) for item in values.split(",")]
    for value in parsed:
        if value is None and kind not in (VariableKind.BORROWING, VariableKind.LENDING):
            raise RecommendError(f"--vary {text}: only limits can be {NONE}; expected numbers")
        if isinstance(value, float) and kind is not VariableKind.WEIGHT:
            raise RecommendError(
                f"--vary {text}: {value:g} is not a whole number; only weights may have a fraction"
            )
        if value == 0 and kind is VariableKind.UNITS:
            raise RecommendError(f"--vary {text}: the maximum size of a pool is at least 1")
    return tuple(dict.fromkeys(parsed))


def _options(text: str, values: str) -> tuple[Value, ...]:
    options = [item.strip() for item in values.split(",")]
    for option in options:
        if option not in OPTIONS:
            raise RecommendError(
                f"--vary {text}: {option!r} is unknown; expected some of: {', '.join(OPTIONS)}"
            )
    return tuple(dict.fromkeys(options))


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
        raise RecommendError(f"--vary {text}: {value!r} is not a value; expected {VALUES}")
    return _number(Decimal(value))


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def value_text(value: Value) -> str:
    """Returns the value of a variable as text."""
    if isinstance(value, str):
        return value
    return NONE if value is None else f"{value:g}"


def size(variables: Sequence[Variable]) -> int:
    """Returns the number of candidates in the full grid."""
    return prod(len(variable.values) for variable in variables)
