"""Candidates as settings: quotas in proportion, pools, limits, and what is no candidate."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from muster.forecast.costs.prices import Prices
from muster.forecast.recommend.candidates import Candidate
from muster.forecast.recommend.changes import changed, check_capacity, offered, scaled
from muster.forecast.recommend.errors import InvalidCandidate, RecommendError
from muster.forecast.recommend.variables import parse_variables
from tests.unit.forecast.recommend.builders import CONFIG, built, candidates

GPU = "nvidia.com/gpu"
LONG = {"nominal": 8, "lendingLimit": 4}

CHANGES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "CPU and memory in proportion": (
        ["queues.a.l4=12"],
        {"a": {"cpu": 24, "memory": "60Gi", GPU: 12}, "b": {"cpu": 16, GPU: LONG}},
    ),
    "CPU and memory are rounded up": (
        ["queues.a.l4=3"],
        {"a": {"cpu": 6, "memory": "15Gi", GPU: 3}, "b": {"cpu": 16, GPU: LONG}},
    ),
    "a long form keeps its limits": (
        ["queues.b.l4=4"],
        {"a": {"cpu": 16, "memory": "40Gi", GPU: 8}, "b": {"cpu": 8, GPU: {"nominal": 4, "lendingLimit": 4}}},
    ),
    "a limit makes the long form": (
        ["queues.a.l4.borrowingLimit=4"],
        {
            "a": {"cpu": 16, "memory": "40Gi", GPU: {"nominal": 8, "borrowingLimit": 4}},
            "b": {"cpu": 16, GPU: LONG},
        },
    ),
    "no limit instead of one": (
        ["queues.b.l4.lendingLimit=none"],
        {
            "a": {"cpu": 16, "memory": "40Gi", GPU: 8},
            "b": {"cpu": 16, GPU: {"nominal": 8, "lendingLimit": None}},
        },
    ),
    "no limit where there is none": (
        ["queues.a.l4.borrowingLimit=none"],
        {"a": {"cpu": 16, "memory": "40Gi", GPU: 8}, "b": {"cpu": 16, GPU: LONG}},
    ),
    "a pool's quotas in proportion, the remainder to the first": (
        ["pools.l4=11"],
        {"a": {"cpu": 12, "memory": "30Gi", GPU: 6}, "b": {"cpu": 10, GPU: LONG | {"nominal": 5}}},
    ),
    "a pool and its own quota": (
        ["pools.l4=20", "queues.a.l4=12"],
        {"a": {"cpu": 24, "memory": "60Gi", GPU: 12}, "b": {"cpu": 16, GPU: LONG}},
    ),
}


def _changed(vary: list[str], config: Mapping[str, Any] = CONFIG) -> dict[str, Any]:
    values = {variable: variable.values[0] for variable in parse_variables(vary, config)}
    return changed(config, built(CONFIG).pools, values)


@pytest.mark.parametrize("name", CHANGES)
def test_quotas_of_a_candidate(name: str) -> None:
    vary, expected = CHANGES[name]
    queues = _changed(vary)["muster:queues"]["clusterQueues"]
    assert {queue["name"]: queue["quotas"]["l4"] for queue in queues} == expected


def test_the_configuration_that_is_changed_stays_as_it_is() -> None:
    before = repr(CONFIG)
    result = _changed(["pools.l4=8", "queues.a.weight=2", "queues.b.l4.lendingLimit=0"])
    assert repr(CONFIG) == before
    assert result["muster:pools"][1]["nodes"] == {"max": 8}
    assert result["muster:queues"]["clusterQueues"][0]["weight"] == 2


def test_queues_that_share_quotas_by_an_alias_change_one_by_one() -> None:
    queue = CONFIG["muster:queues"]["clusterQueues"][0]
    shared = {**CONFIG, "muster:queues": {"clusterQueues": [queue, {**queue, "name": "b"}]}}
    first, second = _changed(["queues.a.l4=4"], shared)["muster:queues"]["clusterQueues"]
    assert (first["quotas"]["l4"][GPU], second["quotas"]["l4"][GPU]) == (4, 8)


QUANTITIES: dict[str, tuple[int | str, Fraction, int | str]] = {
    "a number": (8, Fraction(3, 2), 12),
    "a number is rounded up": (5, Fraction(1, 2), 3),
    "a unit stays": ("40Gi", Fraction(1, 3), "14Gi"),
    "text stays text": ("8", Fraction(2), "16"),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_quantity_is_scaled(name: str) -> None:
    quantity, factor, expected = QUANTITIES[name]
    assert scaled(quantity, factor) == expected


def test_quotas_offer_no_more_than_their_pool_has() -> None:
    assert offered(CONFIG, built(CONFIG).pools) == {"l4": 16}
    assert offered(CONFIG, [replace(pool, units=4) for pool in built(CONFIG).pools]) == {"l4": 4}


def test_quotas_that_exceed_the_pool_are_no_candidates() -> None:
    combinations = candidates("queues.a.l4=4..16:4")
    assert [combinations.at((n,)) is None for n in range(4)] == [False, False, True, True]
    assert combinations.invalid == {"the quotas of l4 exceed its pool; --vary pools.l4 can change that": 2}


def test_a_pool_may_be_as_much_too_small_as_at_present() -> None:
    pools = [replace(pool, units=8) for pool in built(CONFIG).pools]  # of which the quotas promise 16
    for gpus in (4, 8):
        check_capacity(_changed([f"queues.a.l4={gpus}"]), pools, CONFIG, pools)
    with pytest.raises(InvalidCandidate, match="the quotas of l4 exceed its pool"):
        check_capacity(_changed(["queues.a.l4=9"]), pools, CONFIG, pools)


def test_settings_that_a_stack_file_may_not_have_are_counted_by_reason() -> None:
    combinations = candidates("queues.b.l4.lendingLimit=4,12,16")
    assert [combinations.at((n,)) is None for n in range(3)] == [False, True, True]
    assert combinations.at((1,)) is None  # asked twice, counted once
    ((reason, count),) = combinations.invalid.items()
    assert "lendingLimit: expected at most the nominal quota" in reason
    assert count == 2


def test_a_candidate_that_changes_nothing_is_the_present_settings() -> None:
    combinations = candidates("queues.a.l4=4,8", "queues.a.weight=1,2")
    assert combinations.at((1, 0)) is combinations.present
    assert combinations.present.changes == "present settings"
    other = combinations.at((0, 1))
    assert isinstance(other, Candidate)
    assert other.changes == "a.l4 4, a.weight 2"


def test_the_cost_is_capacity_times_price_times_hours() -> None:
    combinations = candidates("pools.l4=8,16", prices=Prices({"l4": 0.5}))
    eight = combinations.at((0,))
    assert eight is not None
    assert (eight.cost, combinations.present.cost) == (2920, 5840)
    assert candidates("pools.l4=8,16").present.cost == 16


BY_OPTION = Prices(by_option={"l4": {"on-demand": 0.5, "spot": 0.25}})


def test_the_cost_depends_on_how_a_pool_is_bought() -> None:
    combinations = candidates("pools.l4.provisioning=on-demand,spot", prices=BY_OPTION)
    spot = combinations.at((1,))
    assert spot is not None
    assert spot.built.configuration.spot == {"l4"}
    assert spot.changes == "pools.l4.provisioning spot"
    assert (combinations.present.cost, spot.cost) == (5840, 2920)


def test_each_way_to_buy_needs_a_price() -> None:
    combinations = candidates("pools.l4.provisioning=flex-start", prices=BY_OPTION)
    with pytest.raises(RecommendError, match=r"no price of l4.* \(l4 flex-start\); expected a price of each"):
        combinations.at((0,))
    with pytest.raises(RecommendError, match="no price of l4"):
        candidates("pools.l4.provisioning=spot", prices=Prices({"l4": 0.5}))


def test_only_reserved_pools_name_a_reservation() -> None:
    config = deepcopy(CONFIG)
    (pool,) = (of for of in config["muster:pools"] if of["name"] == "l4")
    pool |= {"provisioning": "reserved", "reservation": "l4s"}
    prices = Prices(by_option={"l4": {"reserved": 0.4, "spot": 0.25}})
    combinations = candidates("pools.l4.provisioning=reserved,spot", config=config, prices=prices)
    assert combinations.at((0,)) is combinations.present
    spot = combinations.at((1,))
    assert spot is not None
    (changed_pool,) = (of for of in spot.config["muster:pools"] if of["name"] == "l4")
    assert changed_pool == {key: value for key, value in pool.items() if key != "reservation"} | {
        "provisioning": "spot"
    }


def test_a_pool_without_a_reservation_cannot_be_reserved() -> None:
    prices = Prices(by_option={"l4": {"reserved": 0.4, "on-demand": 0.5}})
    combinations = candidates("pools.l4.provisioning=reserved", prices=prices)
    assert combinations.at((0,)) is None
    assert "reservation" in next(iter(combinations.invalid))


def test_a_flavor_without_a_price_is_not_free() -> None:
    with pytest.raises(RecommendError, match="no price of l4, which --vary changes"):
        candidates("pools.l4=8", prices=Prices({"h100": 1}))
    candidates("queues.a.weight=2", prices=Prices({"h100": 1}))
