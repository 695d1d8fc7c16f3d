"""The replicas that autoscaled gangs are offered, beyond what fits into free quota."""

from typing import Any

import pytest

from muster.admission import Engine, PreemptionPolicy
from muster.controller.passes.growth_offers import ElasticGang, offered
from muster.translation.elastic import GROWTH_MAX, ElasticPodSet
from tests.unit.admission.builders import NOW_MS, queue, running, snapshot

ANY = PreemptionPolicy.ANY


def growers(borrowed: int, count: int, *, asked: int = 1) -> tuple[Engine, list[ElasticGang]]:
    """Returns gangs of one GPU in a queue whose other quota another queue has borrowed as surplus. The oldest
    is `g0`; all but it ask for `asked` workers."""
    gangs = [running(f"g{n}", "q", 1, queued_at_ms=n) for n in range(count)]
    surplus = [running(f"a+{n}", "r", 1, surplus_of="ns/a") for n in range(borrowed)]
    queues = [
        queue("q", borrowed + count, cohort="all", reclaim_within_cohort=ANY),
        queue("r", 1, cohort="all", reclaim_within_cohort=ANY),
    ]
    engine = Engine(snapshot(queues, *gangs, running("a", "r", 1), *surplus))
    engine.decide(NOW_MS)
    sizes = [ElasticPodSet(minimum=1, replica=1, asked=asked if n else 1) for n in range(count)]
    return engine, [
        ElasticGang(gang.key, gang, {"workers": of}) for gang, of in zip(gangs, sizes, strict=True)
    ]


CASES: dict[str, tuple[dict[str, Any], list[int]]] = {
    "one grower is offered all": ({"borrowed": 5, "count": 1}, [5]),
    "growers share, the oldest first": ({"borrowed": 5, "count": 3}, [2, 2, 1]),
    "fewer than growers": ({"borrowed": 2, "count": 3}, [1, 1, 0]),
    "nothing is borrowed": ({"borrowed": 0, "count": 2}, [0, 0]),
    "gangs that ask for fewer than they have": ({"borrowed": 4, "count": 3, "asked": 0}, [4, 0, 0]),
    "at most GROWTH_MAX": ({"borrowed": GROWTH_MAX + 9, "count": 1}, [GROWTH_MAX]),
}


@pytest.mark.parametrize(("of", "expected"), CASES.values(), ids=CASES)
def test_surplus_that_may_be_preempted_is_offered(of: dict[str, Any], expected: list[int]) -> None:
    engine, gangs = growers(**of)
    result = offered(engine, gangs, NOW_MS)
    assert [result[gang.key]["workers"] for gang in gangs] == expected
