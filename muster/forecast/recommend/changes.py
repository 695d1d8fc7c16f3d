"""Candidates as settings: the stack file's configuration with the values of variables put in."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from muster.forecast.recommend.errors import InvalidCandidate
from muster.forecast.recommend.variables import Kind, Value, Variable, accelerator_of, entries

QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]*)")


@dataclass(frozen=True, slots=True)
class PoolSize:
    """A node pool's largest size: `units` are nodes or slices, by the stack file's key `unit`, each of them
    with this many `accelerators`."""

    name: str
    flavor: str
    unit: str
    units: int
    accelerators: int

    @property
    def capacity(self) -> int:
        return self.units * self.accelerators


def changed(
    config: Mapping[str, Any], pools: Sequence[PoolSize], values: Mapping[Variable, Value]
) -> dict[str, Any]:
    """Returns the configuration with these values.

    With a nominal quota, the flavor's quotas of CPU and memory change in proportion: gangs could not use
    more accelerators without them. With a pool, the nominal quotas of its flavor do, unless one of them has
    a variable of its own."""
    result: dict[str, Any] = _copied(config)
    own = {variable.flavor for variable in values if variable.kind is Kind.NOMINAL}
    # Pools first: they only change quotas that no variable sets.
    for variable, value in values.items():
        if variable.kind is Kind.UNITS and isinstance(value, int):
            pool = next(pool for pool in pools if pool.name == variable.name)
            entries(result, "pools")[variable.index][pool.unit]["max"] = value
            if pool.flavor not in own and pool.units:
                _share_out(result, pool.flavor, Fraction(value, pool.units))
    for variable, value in values.items():
        if variable.kind is not Kind.UNITS:
            _set(entries(result, variable.section)[variable.index], variable, value)
    return result


def _copied(value: Any) -> Any:
    """Copies mappings and lists. Unlike deepcopy, it parts what YAML's aliases share."""
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def _set(entry: dict[str, Any], variable: Variable, value: Value) -> None:
    if variable.kind is Kind.WEIGHT:
        if str(entry.get("weight", 1)) != str(value):
            entry["weight"] = value
        return
    quotas = entry["quotas"][variable.flavor]
    if variable.kind is Kind.NOMINAL and isinstance(value, int):
        _set_nominal(quotas, value)
        return
    resource = accelerator_of(quotas, variable.target)
    quota = quotas[resource]
    limits = dict(quota) if isinstance(quota, dict) else {"nominal": quota}
    if str(limits.get(variable.kind)) != str(value):
        quotas[resource] = limits | {variable.kind.value: value}


def _set_nominal(quotas: dict[str, Any], value: int) -> None:
    before = nominal(quotas[accelerator_of(quotas, "quotas")])
    if before == value:
        return
    for resource, quota in quotas.items():
        amount = quota["nominal"] if isinstance(quota, dict) else quota
        if "/" in resource:
            amount = value
        elif before:
            amount = scaled(amount, Fraction(value, before))
        quotas[resource] = {**quota, "nominal": amount} if isinstance(quota, dict) else amount


def scaled(quantity: int | str, factor: Fraction) -> int | str:
    """Returns a quantity times a factor, rounded up to a whole number of its unit."""
    match = QUANTITY.fullmatch(str(quantity))
    if match is None:
        return quantity
    number = ceil(Fraction(match[1]) * factor)
    return number if isinstance(quantity, int) else f"{number}{match[2]}"


def nominal(quota: Mapping[str, Any] | int | str) -> int:
    """Returns the nominal quota of an accelerator, in its short or long form."""
    return int(quota["nominal"] if isinstance(quota, Mapping) else quota)


def _share_out(config: dict[str, Any], flavor: str, factor: Fraction) -> None:
    """Multiplies the nominal quotas of a flavor; what rounding down leaves goes to the largest fractions."""
    found = list(_quotas(config, flavor))
    exact = [held * factor for _, held in found]
    shares = [int(one) for one in exact]
    order = sorted(range(len(found)), key=lambda i: (shares[i] - exact[i], i))
    for i in order[: int(sum(exact)) - sum(shares)]:
        shares[i] += 1
    for (quotas, _), share in zip(found, shares, strict=True):
        _set_nominal(quotas, share)


def _quotas(config: Mapping[str, Any], flavor: str) -> Iterator[tuple[dict[str, Any], int]]:
    """Yields each queue's and cohort's quotas of a flavor with accelerators, and how many."""
    for section in ("queues", "cohorts"):
        for entry in entries(config, section):
            quotas: dict[str, Any] = (entry.get("quotas") or {}).get(flavor, {})
            for resource, quota in quotas.items():
                if "/" in resource:
                    yield quotas, nominal(quota)


def granted(config: Mapping[str, Any], flavor: str) -> int:
    """Returns the accelerators that the nominal quotas of a flavor grant in total."""
    return sum(held for _, held in _quotas(config, flavor))


def offered(config: Mapping[str, Any], pools: Sequence[PoolSize]) -> dict[str, int]:
    """Returns the accelerators that a configuration offers by flavor: its quotas, or the pool if smaller."""
    return {
        pool.flavor: min(granted(config, pool.flavor), pool.capacity) for pool in pools if pool.accelerators
    }


def check_capacity(
    config: Mapping[str, Any],
    pools: Sequence[PoolSize],
    present: Mapping[str, Any],
    present_pools: Sequence[PoolSize],
) -> None:
    """Checks that quotas fit in their pools, or are at most as much too large as those of the present file.

    Raises: InvalidCandidate."""
    for pool, was in zip(pools, present_pools, strict=True):
        total, before = granted(config, pool.flavor), granted(present, pool.flavor)
        if total > pool.capacity and total * was.capacity > before * pool.capacity:
            raise InvalidCandidate(
                f"the quotas of {pool.flavor} exceed its pool; --vary pools.{pool.name} can change that"
            )
