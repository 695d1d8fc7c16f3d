"""Rules of the levels of a pool's topology."""

import pytest

from settings.load import parse
from tests.unit.settings.builders import FILE, L4, Case, put, refusal, with_engine

BLOCK, HOST = "cloud.google.com/gce-topology-block", "kubernetes.io/hostname"
MANY = [f"cloud.google.com/level-{i}" for i in range(17)]
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


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_broken_levels_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


@pytest.mark.parametrize("levels", [[BLOCK, HOST], [HOST], MANY[:16]], ids=["two", "nodes only", "16"])
def test_levels_from_the_largest_down_are_accepted(levels: list[str]) -> None:
    assert list(parse(put(*L4, "topology", levels), FILE).pools[1].topology) == levels
