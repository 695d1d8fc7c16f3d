"""Counts of the working state while placements move."""

from contextlib import suppress
from dataclasses import replace

import pytest

from muster.admission import Admission, Flavor, PodSetAssignment, Workload
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import GPU, RACKS, host, on, queue, snapshot, workload

FLAVORS = (Flavor("l4", topology=RACKS.name),)


def placed(on_host: str) -> Workload:
    assigned = PodSetAssignment("workers", 1, {GPU: "l4"}, {GPU: 2}, topology=on((on_host, 1)))
    return workload("w", "q", 2, admission=Admission("q", (assigned,)))


def state_of(workload: Workload) -> WorkingState:
    hosts = (host("a"), host("b"))
    return WorkingState(snapshot(queue("q", 8), workload, flavors=FLAVORS, hosts=hosts))


@pytest.mark.parametrize(("moved_to", "changed"), [("a", False), ("b", True)])
def test_only_places_that_it_left_are_free(moved_to: str, changed: bool) -> None:
    state = state_of(placed("a"))
    holding: Holding = state.holdings["q"]["ns/w"]
    before = holding.placed
    holding.admission = placed(moved_to).admission
    assert state.free_former_domains(holding) is changed
    assert (holding.placed != before) is changed
    assert holding.placed == state_of(replace(placed(moved_to))).holdings["q"]["ns/w"].placed
    assert state.free_former_domains(holding) is False, "it has left them"


@pytest.mark.parametrize("fails", [False, True])
def test_absent_holdings_are_back_after_that(fails: bool) -> None:
    state = state_of(placed("a"))
    node, holding = state.tree.queues["q"], state.holdings["q"]["ns/w"]
    used = dict(node.usage)
    with suppress(LookupError), state.absent([holding]):
        assert list(state.holdings["q"]) == []
        assert not any(node.usage.values())
        if fails:
            raise LookupError
    assert list(state.holdings["q"].values()) == [holding]
    assert node.usage == used
    assert list(state.holdings["q"].below((99.0,), frozenset(holding.usage))) == [holding]
