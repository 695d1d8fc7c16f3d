"""Candidates: combinations of values that are valid settings, with their capacity and cost."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.forecast.configuration import QueueConfiguration
from muster.forecast.costs.monthly import MONTH_HOURS
from muster.forecast.costs.prices import Prices
from muster.forecast.recommend.changes import PoolSize, changed, check_capacity, granted, offered, resized
from muster.forecast.recommend.errors import InvalidCandidate, RecommendError
from muster.forecast.recommend.variables import Point, Value, Variable, VariableKind, value_text


@dataclass(frozen=True, slots=True)
class Built:
    """Valid settings in the form that forecasts need."""

    configuration: QueueConfiguration
    pools: Sequence[PoolSize]
    digest: str  # hash of everything that a simulation depends on


Build = Callable[[Mapping[str, Any]], Built]
"""Parses the configuration of a stack file. Raises InvalidCandidate with the reason."""


def cost(offered: Mapping[str, int], prices: Prices) -> float:
    """Returns the cost of accelerators (by flavor) in a month; without prices, their number."""
    if not prices:
        return float(sum(offered.values()))
    return MONTH_HOURS * sum(prices.by_flavor.get(flavor, 0.0) * n for flavor, n in offered.items())


@dataclass(frozen=True, slots=True)
class Candidate:
    """Valid settings with their capacity and cost."""

    values: Mapping[Variable, Value]  # empty for the present settings
    config: Mapping[str, Any]
    built: Built
    offered: Mapping[str, int]  # accelerators by flavor
    cost: float
    pool_size: int = 0  # accelerators of all pools at their maximum size
    quota: int = 0  # accelerators of all nominal quotas

    @property
    def changes(self) -> str:
        """The values in one line, such as `a.h100 8, a.weight 2`."""
        texts = (
            f"{variable.target.removeprefix('queues.')} {value_text(value)}"
            for variable, value in self.values.items()
        )
        return ", ".join(texts) or "present settings"


class Candidates:
    """Builds candidates from points, and counts invalid ones by reason."""

    def __init__(
        self,
        config: Mapping[str, Any],
        variables: Sequence[Variable],
        build: Build,
        prices: Prices,
    ) -> None:
        self._config, self._build, self._prices = config, build, prices
        self.variables = variables
        self.invalid: Counter[str] = Counter()
        self._by_point: dict[Point, Candidate | None] = {}
        present = build(config)
        self._pools = present.pools
        self.present = self._candidate({}, config, present)

    def at(self, point: Point) -> Candidate | None:
        """Returns the candidate; None if it is invalid; the present settings if it changes nothing."""
        if point not in self._by_point:
            try:
                self._by_point[point] = self._build_at(point)
            except InvalidCandidate as reason:
                self.invalid[str(reason)] += 1
                self._by_point[point] = None
        return self._by_point[point]

    def _build_at(self, point: Point) -> Candidate:
        values = {variable: variable.values[at] for variable, at in zip(self.variables, point, strict=True)}
        pools = self.present.built.pools
        config = changed(self._config, pools, values)
        if config == self._config:
            return self.present
        # Before the settings' own rule about quotas and pools, which does not name --vary.
        check_capacity(config, resized(pools, values), self._config, pools)
        return self._candidate(values, config, self._build(config))

    def _candidate(
        self, values: Mapping[Variable, Value], config: Mapping[str, Any], built: Built
    ) -> Candidate:
        capacity = offered(config, built.pools)
        pools = [pool for pool in built.pools if pool.accelerators]
        prices = self._prices.bought(built.configuration.purchase_options)
        self._check_price(values, prices)
        return Candidate(
            values,
            config,
            built,
            capacity,
            cost(capacity, prices),
            pool_size=sum(pool.capacity for pool in pools),
            quota=sum(granted(config, flavor) for flavor in {pool.flavor for pool in pools}),
        )

    def _check_price(self, values: Mapping[Variable, Value], prices: Prices) -> None:
        """Rejects flavors that would cost nothing only because they have no price."""
        flavors = {pool.name: pool.flavor for pool in self._pools}
        varied = {v.flavor for v in self.variables if v.kind is VariableKind.NOMINAL}
        varied |= {flavors[v.name] for v in self.variables if v.section == "pools"}
        optional = {flavors[v.name] for v in self.variables if v.kind is VariableKind.PROVISIONING}
        missing = sorted(varied - prices.by_flavor.keys() | optional - self._prices.by_option.keys())
        if self._prices and missing:
            options = (v for v in values.items() if v[0].kind is VariableKind.PROVISIONING)
            bought = ", ".join(f"{pool.name} {option}" for pool, option in options)
            raise RecommendError(
                f"no price of {', '.join(missing)}, which --vary changes{f' ({bought})' if bought else ''}; "
                "expected a price of each, and of each way in which it is bought, in "
                "muster:forecast.prices or --prices, or no prices at all"
            )
