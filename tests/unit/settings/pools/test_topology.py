"""Rules of the levels of a pool's topology."""

from typing import Any

import pytest

from settings.load import parse
from tests.unit.settings.builders import FILE, L4, Case, put, refusal, with_engine

BLOCK, HOST = "cloud.google.com/gce-topology-block", "kubernetes.io/hostname"
MANY = [f"cloud.google.com/level-{i}" for i in range(17)]
RACK = "cloud.google.com/gce-topology-subblock"
HERE = "muster:pools[1].topology"
KAI = with_engine("kai")
KAI["muster:pools"][1]["topology"] = [HOST]

BROKEN = [
    Case(
        "a level twice",
        put(*L4, "topology", [BLOCK, BLOCK]),
        f"{HERE}[1]",
        f'"{BLOCK}"',
        "each value once",
        "remove all but the intended one",
    ),
    Case(
        "nodes above blocks",
        put(*L4, "topology", [HOST, BLOCK]),
        f"{HERE}[0]",
        f'"{HOST}"',
        "another level: single nodes are below all other levels (Kueue, Topology)",
        "put it at the end",
    ),
    Case(
        "17 levels",
        put(*L4, "topology", MANY),
        HERE,
        str(MANY).replace("'", '"'),
        "at most 16 levels (Kueue, Topology)",
        "remove some",
    ),
    Case(
        "engine kai",
        KAI,
        HERE,
        f'["{HOST}"]',
        "no levels: they belong to a flavor's Topology, and engine kai has no flavors",
        "remove it, or choose engine: muster (or kueue)",
    ),
]


def forecast_of(**topology: Any) -> dict[str, Any]:
    """The stack with levels, and an assumption about its forecasts."""
    config = put(*L4, "topology", [BLOCK, RACK, HOST])
    config["muster:forecast"] = {"topologies": {"l4": topology}}
    return config


ASSUMED = "muster:forecast.topologies"
WIDE = f"a level of the pool's topology above single nodes: {BLOCK}, {RACK}"
BROKEN_ASSUMPTIONS = [
    Case(
        "the topology of a flavor without levels",
        put("muster:forecast", {"topologies": {"cpu": {}}}),
        f"{ASSUMED}.cpu",
        "{}",
        "the flavor of a pool with `topology` in this file",
        "none is defined yet: add it first",
    ),
    Case(
        "nodes per unknown domain",
        forecast_of(nodesPerDomain={"rows": 4}),
        f"{ASSUMED}.l4.nodesPerDomain.rows",
        "4",
        WIDE,
        "rename or remove it",
    ),
    Case(
        "nodes per node",
        forecast_of(nodesPerDomain={HOST: 1}),
        f'{ASSUMED}.l4.nodesPerDomain["{HOST}"]',
        "1",
        WIDE,
        "rename or remove it",
    ),
    Case(
        "racks in several blocks",
        forecast_of(nodesPerDomain={BLOCK: 6, RACK: 4}),
        f'{ASSUMED}.l4.nodesPerDomain["{BLOCK}"]',
        "6",
        f"a multiple of 4, the nodes per {RACK}",
        "make each domain part of one domain of the level above",
    ),
    Case(
        "an unknown level",
        forecast_of(required=f"{RACK}s"),
        f"{ASSUMED}.l4.required",
        f'"{RACK}s"',
        f"a level of the pool's topology: {BLOCK}, {RACK}, {HOST}",
        f"did you mean {RACK}?",
    ),
    Case(
        "two requests",
        forecast_of(required=RACK, preferred=BLOCK),
        f"{ASSUMED}.l4",
        f'{{"required": "{RACK}", "preferred": "{BLOCK}"}}',
        "required or preferred",
        "remove one of them",
    ),
]


@pytest.mark.parametrize("case", BROKEN_ASSUMPTIONS, ids=str)
def test_assumptions_about_unknown_levels_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_broken_levels_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


@pytest.mark.parametrize("levels", [[BLOCK, HOST], [HOST], MANY[:16]], ids=["two", "nodes only", "16"])
def test_levels_from_the_largest_down_are_accepted(levels: list[str]) -> None:
    assert list(parse(put(*L4, "topology", levels), FILE).pools[1].topology) == levels
