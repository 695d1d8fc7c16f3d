"""Tests why a workload does not get a flavor, as data."""

from typing import Any

import pytest

from muster.admission import ClusterQueue, Flavor, PodSet, PodSetAssignment, Quota, Rules, TopologyRequest
from muster.admission.flavors.assigner import FlavorAssigner
from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.attempts import Obstacle, Shortage
from muster.admission.flavors.fungibility import Grade, Mode
from muster.admission.flavors.queue_flavors import QueueFlavors
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import GPU, fr, pods, queue, snapshot, taint, workload

TWO = {"spot": {GPU: 4}, "dear": {GPU: 4}}
FENCED = Flavor("fenced", taints=(taint("fence"),))
SPOT = Flavor("spot", {"pool": "spot"})


def assign(of: ClusterQueue, *pod_sets: PodSet | int, rules: Rules = Rules(), **options: Any) -> Assignment:  # noqa: B008
    """The state with 3 spot GPUs in use."""
    fields = {"allowed_flavors": options.pop("allowed", None)}
    state = WorkingState(snapshot(of, flavors=[FENCED, SPOT]), rules)
    node = state.tree.queues[of.name]
    node.add({fr("spot"): 3})
    gang = workload("w", of.name, *pod_sets, **fields)
    return FlavorAssigner(state.flavors[of.name], node, gang, **options).assign()


def mismatches(assignment: Assignment) -> dict[str, str]:
    return {
        attempt.flavor: attempt.mismatch
        for choice in assignment.pod_sets
        for search in choice.searches
        for attempt in search.attempts
        if attempt.mismatch
    }


def test_a_refusal_says_what_speaks_against_each_flavor() -> None:
    of = queue("q", {"fenced": {GPU: 9}, "spot": {GPU: 4}, "dear": {GPU: Quota(1)}})
    result = assign(of, pods("a", gpu=1), pods("b", gpu=4))
    assert result.refusal is not None
    assert (result.refusal.pod_set, result.refusal.resource, result.refusal.covered) == ("b", GPU, True)
    assert result.refusal.mismatches == (
        ("fenced", "has the taint fence=:NoSchedule, which is not tolerated"),
    )
    assert result.refusal.shortages == (
        (Shortage(fr("spot"), needed=5, earlier=1, headroom=4, obstacle=Obstacle.CAPACITY),),
        (Shortage(fr("dear"), needed=4, earlier=0, headroom=1, obstacle=Obstacle.CAPACITY),),
    )


def test_used_quota_is_told_apart_from_missing_capacity() -> None:
    refusal = assign(queue("q", TWO), pods(gpu=3), pods("b", gpu=3)).refusal
    assert refusal is not None
    assert refusal.shortages == (
        (Shortage(fr("spot"), needed=3, earlier=0, headroom=1, obstacle=Obstacle.QUOTA),),
        (Shortage(fr("dear"), needed=6, earlier=3, headroom=4, obstacle=Obstacle.CAPACITY),),
    )


def test_every_resource_that_is_short_is_told() -> None:
    refusal = assign(queue("q", {"l4": {"cpu": 1000, GPU: 1}}), pods(gpu=2, requests={"cpu": 2000})).refusal
    assert refusal is not None
    assert {shortage.flavor_resource for shortage in refusal.shortages[0]} == {fr("l4"), fr("l4", "cpu")}


def test_a_resource_that_no_group_covers() -> None:
    refusal = assign(queue("q", TWO), pods(gpu=1), pods("b", requests={"tpu": 1})).refusal
    assert refusal is not None
    assert (refusal.pod_set, refusal.resource, refusal.covered) == ("b", "tpu", False)


def test_nothing_is_refused_where_preemption_may_help() -> None:
    result = assign(queue("q", {"spot": {GPU: 4}}), 4, simulate=lambda *_: Grade(Mode.NO_CANDIDATES, 0))
    assert (result.refusal, result.obstacle, result.mode) == (None, None, Mode.NO_CANDIDATES)
    attempt = result.pod_sets[0].searches[0].attempts[0]
    assert (attempt.obstacle, attempt.borrowing, len(attempt.shortages)) == (None, 0, 1)


def test_flavors_that_are_not_for_this_workload() -> None:
    pinned = assign(queue("q", TWO), 1, pinned={"workers": {GPU: "t4"}})
    assert mismatches(pinned).keys() == {"spot", "dear"}
    assert {attempt.obstacle for attempt in pinned.pod_sets[0].searches[0].attempts} == {None}
    allowed = assign(queue("q", TWO), 4, rules=Rules(concurrent_admission=True), allowed=("spot",))
    assert mismatches(allowed) == {"dear": "is not one of those allowed for it"}
    assert allowed.obstacle is Obstacle.QUOTA
    assert [attempt.obstacle for attempt in allowed.pod_sets[0].searches[0].attempts] == [
        Obstacle.QUOTA,
        None,
    ]


def test_pod_sets_that_stay_together_have_the_modes_of_their_own_requests() -> None:
    together = TopologyRequest(group="g")
    of = queue("q", {"spot": {GPU: 4, "cpu": 9000}})
    leader = pods("leader", requests={"cpu": 1000}, topology=together)
    workers = pods(gpu=2, requests={"cpu": 1000}, topology=together)
    result = assign(of, leader, workers, simulate=lambda *_: Grade(Mode.PREEMPT, 0))
    assert ([choice.mode for choice in result.pod_sets], result.mode) == (
        [Mode.FIT, Mode.PREEMPT],
        Mode.PREEMPT,
    )


def test_flavors_that_the_replaced_slice_does_not_have() -> None:
    old = (PodSetAssignment("workers", 1, {GPU: "dear"}, {GPU: 1}),)
    assert mismatches(assign(queue("q", TWO), 1, replaced=old)) == {
        "spot": f"is not dear, which the slice that it replaces has for {GPU}"
    }
    other = (PodSetAssignment("workers", 1, {}, {}),)
    assert mismatches(assign(queue("q", TWO), 1, replaced=other))["spot"] == (
        f"does not serve a slice that replaces one without {GPU}"
    )


def test_a_flavor_that_does_not_exist_matches_nothing() -> None:
    of = queue("q", {"gone": {GPU: 4}})
    state = WorkingState(snapshot(of))
    result = FlavorAssigner(QueueFlavors(of, {}), state.tree.queues["q"], workload("w", "q", 1)).assign()
    assert (mismatches(result), result.obstacle) == ({"gone": "does not exist"}, Obstacle.MISMATCH)


def test_the_answer_for_pods_is_given_to_all_that_are_alike() -> None:
    of = queue("q", TWO)
    state = WorkingState(snapshot(of, flavors=[SPOT]))
    node, flavors = state.tree.queues["q"], state.flavors["q"]
    for selector, flavor in (("cpu", "dear"), ("spot", "spot"), ("cpu", "dear")):
        gang = workload("w", "q", pods(gpu=1, node_selector={"pool": selector}))
        assert FlavorAssigner(flavors, node, gang).assign().pod_sets[0].flavors == {GPU: flavor}


TWO_GROUPS = queue(
    "q", {"spot": {GPU: 4}, "fenced": {GPU: 9}}, {"e2": {"memory": 5}, "fenced": {"memory": 9}}
)

OBSTACLES = {  # queue, pod set, the main one
    "it fits": (queue("q", TWO), pods(gpu=1), None),
    "in use": (queue("q", {"spot": {GPU: 4}}), pods(gpu=2), Obstacle.QUOTA),
    "more than there is": (queue("q", TWO), pods(gpu=5), Obstacle.CAPACITY),
    "the flavor nearest to fitting counts": (
        queue("q", {"fenced": {GPU: 9}, "dear": {GPU: 1}, "spot": {GPU: 4}}),
        pods(gpu=2),
        Obstacle.QUOTA,
    ),
    "the resource farthest from fitting counts": (
        queue("q", {"spot": {GPU: 4, "cpu": 1}}),
        pods(gpu=2, requests={"cpu": 2}),
        Obstacle.CAPACITY,
    ),
    "no flavor matches": (queue("q", {"fenced": {GPU: 9}}), pods(gpu=1), Obstacle.MISMATCH),
    "no quota for it": (queue("q", TWO), pods(requests={"tpu": 1}), Obstacle.MISMATCH),
    "a group that has a flavor for it does not": (
        TWO_GROUPS,
        pods(gpu=2, requests={"memory": 1}),
        Obstacle.QUOTA,
    ),
}


@pytest.mark.parametrize(("of", "pod_set", "obstacle"), OBSTACLES.values(), ids=OBSTACLES.keys())
def test_the_main_obstacle(of: ClusterQueue, pod_set: PodSet, obstacle: Obstacle | None) -> None:
    assert assign(of, pod_set).obstacle is obstacle


def test_no_place_is_the_obstacle_where_all_else_fits() -> None:
    result = assign(queue("q", TWO), 1)
    result.pod_sets[0].misplaced = "no rack has room"
    result.worsen(result.pod_sets[0], Mode.NO_FIT)
    assert (result.obstacle, result.refusal) == (Obstacle.TOPOLOGY, None)
