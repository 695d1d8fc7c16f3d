"""Grades that the preemptor gives to flavors, and the searches that it starts."""

import pytest

from muster.admission import FairSharing, PreemptionPolicy, PreemptionReason, Rules, Workload
from muster.admission.flavors.fungibility import Grade, Mode
from muster.admission.preemption.preemptor import Preemptor
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import fr, queue, running, snapshot, workload

L4 = fr("l4")


def preemptor(quota: int, *running_now: Workload, rules: Rules = Rules()) -> Preemptor:  # noqa: B008
    """A preemptor of queue q, whose cohort has queue mate with a quota of 2."""
    policies = {
        "within_queue": PreemptionPolicy.LOWER_PRIORITY,
        "reclaim_within_cohort": PreemptionPolicy.ANY,
    }
    queues = [queue("q", quota, cohort="ml", **policies), queue("mate", 2, cohort="ml")]
    state = WorkingState(snapshot(queues, *running_now))
    incoming = workload("in", "q", 2, priority=5)
    return Preemptor(state, incoming, state.queue("q"), state.tree.queues["q"], rules)


SIMULATED = {  # grade for 2 more GPUs
    "no candidates": (preemptor(4, running("a", gpu=4, priority=9)), Grade(Mode.NO_CANDIDATES, 1)),
    "own queue": (preemptor(4, running("a", gpu=4), running("b", "mate", gpu=2)), Grade(Mode.PREEMPT, 0)),
    "other queues": (preemptor(2, running("a", "mate", gpu=4)), Grade(Mode.RECLAIM, 0)),
    "own queue, to borrow": (
        preemptor(1, running("a", "mate", gpu=1), running("b", gpu=2)),
        Grade(Mode.PREEMPT, 1),
    ),
}


@pytest.mark.parametrize(("of", "grade"), SIMULATED.values(), ids=SIMULATED.keys())
def test_simulation_grades_what_preemption_could_reach(of: Preemptor, grade: Grade) -> None:
    assert of.simulate(L4, 2) == grade


def test_simulated_search_is_not_repeated() -> None:
    of = preemptor(2, running("a", "mate", gpu=4))
    of.simulate(L4, 2)
    of.state.holdings["mate"].clear()
    assert [target.holding.workload.uid for target in of.targets({L4: 2, fr("t4"): 0}, {L4})] == ["a"]
    assert of.targets({L4: 3}, {L4}) == []


PLACES: dict[str, tuple[int | None, set[str]]] = {  # victims that make places at that usage of GPUs
    "there is no topology": (None, {"low"}),
    "only when both have left": (0, {"low", "high"}),
    "never": (-1, set()),
}


@pytest.mark.parametrize(("usage", "expected"), PLACES.values(), ids=PLACES.keys())
def test_the_pods_have_to_find_their_places_too(usage: int | None, expected: set[str]) -> None:
    of = preemptor(4, running("low", gpu=2, priority=1), running("high", gpu=2, priority=2))
    placed = None if usage is None else lambda: of.node.usage[L4] == usage
    assert {target.holding.workload.uid for target in of.targets({L4: 2}, {L4}, placed)} == expected
    assert of.node.usage[L4] == 4


def test_fair_sharing_goes_by_shares() -> None:
    of = preemptor(2, running("a", "mate", gpu=4), rules=Rules(fair_sharing=FairSharing()))
    reasons = [target.reason for target in of.targets({L4: 1}, {L4})]
    assert reasons == [PreemptionReason.IN_COHORT_RECLAMATION]
