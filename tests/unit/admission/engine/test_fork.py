"""Copies of an engine, for what would happen if."""

from dataclasses import replace
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission import Engine, Flavor, PreemptionPolicy, Rules, Snapshot, TopologyRequest, Workload
from tests.unit.admission.builders import (
    NOW_MS,
    RACKS,
    admitted,
    host,
    pods,
    preempted,
    queue,
    running,
    snapshot,
    workload,
)
from tests.unit.admission.engine.lives import CLUSTERS, OPTIONAL_RULES, RULES
from tests.unit.admission.strategies import PROPERTY

by_key = attrgetter("key")


def happens(engine: Engine, arrives: tuple[Workload, ...], ends: list[str], now_ms: int) -> list[object]:
    """Decisions and explanations as these end and arrive one by one."""
    events: list[object] = []
    for key in ends:
        engine.remove(key)
        events.append(engine.decide(now_ms))
    for queued in arrives:
        engine.put(queued)
        events += [engine.decide(now_ms), engine.settled, engine.next_ms]
    return [*events, list(engine.waiting(now_ms)), sorted(engine.snapshot.workloads, key=by_key)]


@PROPERTY
@given(CLUSTERS, CLUSTERS, st.sampled_from(RULES + OPTIONAL_RULES), st.integers(0, 9), st.booleans())
def test_copy_of_an_engine_decides_what_the_engine_does(
    first: Snapshot, then: Snapshot, rules: Rules, ends: int, decided: bool
) -> None:
    """Whatever happens to the copy before changes nothing about the engine."""
    arrives = tuple(
        replace(workload, key=f"{workload.key}-late", uid=f"{workload.uid}-late", admission=None)
        for workload in then.workloads
    )
    gone = [workload.key for workload in first.workloads[:ends]]
    engine = Engine(first, rules)
    if decided:
        engine.decide(NOW_MS)
    before = list(engine.waiting(NOW_MS))
    copies = [engine.fork(), engine.fork()]
    assert [list(copy.waiting(NOW_MS)) for copy in copies] == [before, before]
    expected = happens(copies[0], arrives, gone, NOW_MS + 1)
    assert list(engine.waiting(NOW_MS)) == before
    assert happens(engine, arrives, gone, NOW_MS + 1) == expected
    assert happens(copies[1], arrives, gone, NOW_MS + 1) == expected


def test_copy_has_the_same_backoffs() -> None:
    engine = Engine(snapshot(queue("q", 1), workload("w", "q", 1, requeue_at_ms=NOW_MS + 5)))
    engine.decide(NOW_MS)
    copy = engine.fork()
    assert admitted(copy.decide(NOW_MS + 5)) == ["w"]
    assert (engine.next_ms, admitted(engine.decide(NOW_MS + 5))) == (NOW_MS + 5, ["w"])


def test_copy_places_workloads_on_nodes_of_its_own() -> None:
    on_racks = pods(count=1, gpu=8, topology=TopologyRequest(unconstrained=True))
    engine = Engine(
        snapshot(
            queue("q", 16),
            workload("first", "q", on_racks),
            flavors=[Flavor("l4", topology=RACKS.name)],
            hosts=[host("a"), host("b")],
        )
    )
    assert admitted(engine.decide(NOW_MS)) == ["first"]
    copy = engine.fork()
    for of in (copy, engine):
        of.put(workload("second", "q", on_racks))
        of.put(workload("third", "q", on_racks, queued_at_ms=1))
        assert admitted(of.decide(NOW_MS)) == ["second"]
    copy.remove("ns/first")
    assert (admitted(copy.decide(NOW_MS)), admitted(engine.decide(NOW_MS))) == (["third"], [])


@pytest.mark.parametrize("rules", [Rules(), Rules(prioritize_preemptors=True)], ids=["default", "preemptors"])
def test_victims_of_a_copy_stay_in_the_engine(rules: Rules) -> None:
    of = queue("q", 2, within_queue=PreemptionPolicy.LOWER_PRIORITY)
    engine = Engine(snapshot(of, running("r", "q", 2)), rules)
    engine.decide(NOW_MS)
    copy = engine.fork()
    copy.put(workload("urgent", "q", 2, priority=1))
    assert preempted(copy.decide(NOW_MS)) == [("r", "urgent")]
    assert [queued.evicted for queued in engine.snapshot.workloads] == [False]
    assert [queued.evicted for queued in copy.fork().snapshot.workloads] == [True, False]
