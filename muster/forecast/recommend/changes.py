"""Converts candidates to settings: the stack file's configuration with the values of the variables."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

from muster.forecast.recommend.errors import InvalidCandidate
from muster.forecast.recommend.variables import Value, Variable, VariableKind, accelerator_of, entries

ON_DEMAND, RESERVED = "on-demand", "reserved"
QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]*)")


@dataclass(frozen=True, slots=True)
class PoolSize:
    """The maximum size of a node pool."""

    name: str
    flavor: str
    unit: str  # key in the stack file: "nodes" or "slices"
    units: int  # number of nodes or slices
    accelerators: int  # of one unit

    @property
    def capacity(self) -> int:
        """The number of accelerators in the pool."""
        return self.units * self.accelerators


def changed(
    config: Mapping[str, Any], pools: Sequence[PoolSize], values: Mapping[Variable, Value]
) -> dict[str, Any]:
    """Returns the configuration with these values.

    If a nominal quota changes, the flavor's CPU and memory quotas change in proportion, as gangs could not
    use more accelerators without them. If a pool changes, so do the nominal quotas of its flavor, unless one
    of them is a variable."""
    result: dict[str, Any] = _copied(config)
    varied = {variable.flavor for variable in values if variable.kind is VariableKind.NOMINAL}
    # Pools first: they only change quotas that no variable sets.
    for variable, value in values.items():
        if variable.kind is VariableKind.UNITS and isinstance(value, int):
            pool = next(pool for pool in pools if pool.name == variable.name)
            entries(result, "pools")[variable.index][pool.unit]["max"] = value
            if pool.flavor not in varied and pool.units:
                _scale_quotas(result, pool.flavor, Fraction(value, pool.units))
    for variable, value in values.items():
        if variable.kind is VariableKind.PROVISIONING:
            _set_provisioning(entries(result, "pools")[variable.index], value)
        elif variable.kind is not VariableKind.UNITS:
            _set(entries(result, variable.section)[variable.index], variable, value)
    return result


def resized(pools: Sequence[PoolSize], values: Mapping[Variable, Value]) -> list[PoolSize]:
    """Returns the pools with the sizes among these values."""
    units = {
        variable.name: value for variable, value in values.items() if variable.kind is VariableKind.UNITS
    }
    return [
        replace(pool, units=size) if isinstance(size := units.get(pool.name), int) else pool for pool in pools
    ]


def _copied(value: Any) -> Any:
    """Copies mappings and lists. Unlike deepcopy, it separates values that YAML aliases share."""
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def _set(entry: dict[str, Any], variable: Variable, value: Value) -> None:
    if variable.kind is VariableKind.WEIGHT:
        if str(entry.get("weight", 1)) != str(value):
            entry["weight"] = value
        return
    quotas = entry["quotas"][variable.flavor]
    if variable.kind is VariableKind.NOMINAL and isinstance(value, int):
        _set_nominal(quotas, value)
        return
    resource = accelerator_of(quotas, variable.target)
    quota = quotas[resource]
    limits = dict(quota) if isinstance(quota, dict) else {"nominal": quota}
    if str(limits.get(variable.kind)) != str(value):
        quotas[resource] = limits | {variable.kind.value: value}


def _set_provisioning(pool: dict[str, Any], value: Value) -> None:
    """Sets how a pool is bought; only reserved pools name a reservation."""
    if pool.get("provisioning", ON_DEMAND) == value:
        return
    pool["provisioning"] = value
    if value != RESERVED:
        pool.pop("reservation", None)


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


def _scale_quotas(config: dict[str, Any], flavor: str, factor: Fraction) -> None:
    """Multiplies the nominal quotas of a flavor; units lost by rounding down go to the largest fractions."""
    quotas_of_flavor = list(_quotas(config, flavor))
    exact = [held * factor for _, held in quotas_of_flavor]
    shares = [int(amount) for amount in exact]
    order = sorted(range(len(quotas_of_flavor)), key=lambda i: (shares[i] - exact[i], i))
    for i in order[: int(sum(exact)) - sum(shares)]:
        shares[i] += 1
    for (quotas, _), share in zip(quotas_of_flavor, shares, strict=True):
        _set_nominal(quotas, share)


def _quotas(config: Mapping[str, Any], flavor: str) -> Iterator[tuple[dict[str, Any], int]]:
    """Yields the quotas of a flavor in each queue and cohort, with their number of accelerators."""
    for section in ("queues", "cohorts"):
        for entry in entries(config, section):
            quotas: dict[str, Any] = (entry.get("quotas") or {}).get(flavor, {})
            for resource, quota in quotas.items():
                if "/" in resource:
                    yield quotas, nominal(quota)


def granted(config: Mapping[str, Any], flavor: str) -> int:
    """Returns the total of the nominal quotas of a flavor, in accelerators."""
    return sum(held for _, held in _quotas(config, flavor))


def offered(config: Mapping[str, Any], pools: Sequence[PoolSize]) -> dict[str, int]:
    """Returns the accelerators on offer by flavor: the quotas, limited by the pool."""
    return {
        pool.flavor: min(granted(config, pool.flavor), pool.capacity) for pool in pools if pool.accelerators
    }


def check_capacity(
    config: Mapping[str, Any],
    pools: Sequence[PoolSize],
    present: Mapping[str, Any],
    present_pools: Sequence[PoolSize],
) -> None:
    """Checks that quotas fit in their pools, or exceed them by no larger ratio than in the present file.

    Raises: InvalidCandidate."""
    for pool, pool_before in zip(pools, present_pools, strict=True):
        total, before = granted(config, pool.flavor), granted(present, pool.flavor)
        if total > pool.capacity and total * pool_before.capacity > before * pool.capacity:
            raise InvalidCandidate(
                f"the quotas of {pool.flavor} exceed its pool; --vary pools.{pool.name} can change that"
            )
