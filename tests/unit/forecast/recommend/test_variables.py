"""The syntax of --vary."""

from typing import Any

import pytest

from muster.forecast.recommend.errors import RecommendError
from muster.forecast.recommend.variables import Value, VariableKind, parse_variable, parse_variables, size
from tests.unit.forecast.recommend.builders import CONFIG

VARIABLES: dict[str, tuple[str, tuple[str, VariableKind, tuple[Value, ...]]]] = {
    "a range with a step": ("queues.a.l4=8..20:4", ("a", VariableKind.NOMINAL, (8, 12, 16, 20))),
    "a range ends at the last step": ("queues.a.l4=8..19:4", ("a", VariableKind.NOMINAL, (8, 12, 16))),
    "a range by ones": ("pools.l4=3..5", ("l4", VariableKind.UNITS, (3, 4, 5))),
    "a list": ("queues.b.l4.lendingLimit=0,4,none", ("b", VariableKind.LENDING, (0, 4, None))),
    "a value once": ("queues.b.l4.borrowingLimit=4,4", ("b", VariableKind.BORROWING, (4,))),
    "weights": ("queues.a.weight=0.5..1.5:0.5", ("a", VariableKind.WEIGHT, (0.5, 1, 1.5))),
    "ways to buy": (
        "pools.l4.provisioning=spot,reserved,spot",
        ("l4", VariableKind.PROVISIONING, ("spot", "reserved")),
    ),
    "a cohort": ("cohorts.ml.weight=1,2", ("ml", VariableKind.WEIGHT, (1, 2))),
}
BAD_VARIABLES = {
    "no values": ("queues.a.l4", "expected TARGET="),
    "an unknown section": ("tenants.a=1", "expected TARGET="),
    "an unknown queue": ("queues.c.l4=1", "no such entry in queues; expected one of: a, b"),
    "an unknown pool": ("pools.h100=1", "no such entry in pools; expected one of: system, l4"),
    "a flavor that the queue has no quota of": ("queues.a.h100=1", "its flavors: cpu, l4"),
    "a flavor without accelerators": ("queues.a.cpu=1", "expected a quota of one accelerator"),
    "an unknown limit": ("queues.a.l4.limit=1", "expected borrowingLimit or lendingLimit"),
    "more than a pool": ("pools.l4.max=1", "expected pools.POOL or pools.POOL.provisioning"),
    "an unknown way to buy": ("pools.l4.provisioning=free", "'free' is unknown; expected some of: on-demand"),
    "text as a value": ("queues.a.l4=many", "'many' is not a value"),
    "a range that goes down": ("queues.a.l4=8..4", "FROM <= TO"),
    "a step of nothing": ("queues.a.l4=4..8:0", "a STEP above 0"),
    "half of a GPU": ("queues.a.l4=0.5", "0.5 is not a whole number"),
    "no nominal quota": ("queues.a.l4=none", "only limits can be none"),
    "an empty pool": ("pools.l4=0..4", "at least 1"),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_is_read(name: str) -> None:
    text, expected = VARIABLES[name]
    variable = parse_variable(text, CONFIG)
    assert (variable.name, variable.kind, variable.values) == expected
    assert variable.target == text.partition("=")[0]


@pytest.mark.parametrize("name", BAD_VARIABLES)
def test_a_bad_variable_says_what_is_expected(name: str) -> None:
    text, expected = BAD_VARIABLES[name]
    with pytest.raises(RecommendError, match=expected):
        parse_variable(text, CONFIG)


def test_names_may_have_dots() -> None:
    quotas = {"l4": {"nvidia.com/gpu": 1}, "l4.spot": {"nvidia.com/gpu": 1}}
    queues = [{"name": "a", "quotas": quotas}, {"name": "a.b", "quotas": quotas}]
    config: dict[str, Any] = {"muster:queues": {"clusterQueues": queues}}
    variable = parse_variable("queues.a.b.l4.spot.lendingLimit=1", config)
    assert (variable.index, variable.flavor, variable.kind) == (1, "l4.spot", VariableKind.LENDING)


def test_a_target_is_given_once() -> None:
    with pytest.raises(RecommendError, match=r"queues\.a\.l4 is given twice"):
        parse_variables(["queues.a.l4=1", "queues.a.l4=2"], CONFIG)
    with pytest.raises(RecommendError, match="nothing to vary"):
        parse_variables([], CONFIG)


def test_the_grid_has_all_combinations() -> None:
    assert size(parse_variables(["queues.a.l4=4,8", "pools.l4=1..3"], CONFIG)) == 6
