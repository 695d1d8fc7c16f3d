"""Flavors with a topology: which pod sets may take them, and the effect of places on an assignment."""

from dataclasses import replace
from typing import Any

import pytest

from muster.admission import (
    Admission,
    Check,
    CheckState,
    Flavor,
    PodSet,
    PodSetAssignment,
    Rules,
    Snapshot,
    TopologyRequest,
    Workload,
)
from muster.admission.flavors.assigner import FlavorAssigner
from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.fungibility import Grade, Mode
from muster.admission.flavors.placement import Placer, added_pods, needs_second_pass
from muster.admission.model import FlavorResource
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import GPU, host, on, placed_on, pods, queue, snapshot, workload

TPU = Flavor("tpu", topology="racks")
NEAR = TopologyRequest(required="rack")
HOSTS = (host("x1", rack="r1"), host("x2", rack="r1"), host("y1", rack="r2"))
PREEMPTING = Grade(Mode.PREEMPT, 0)


def cluster(*workloads: Workload, queues: Any = None, **fields: Any) -> Snapshot:
    """A queue with 64 GPUs of the flavor with the topology and, behind it, of a plain one."""
    plain_too = queue("q", {"tpu": {GPU: 64}, "l4": {GPU: 64}})
    return snapshot(queues or plain_too, *workloads, flavors=[TPU], hosts=HOSTS, **fields)


def only_tpu(**fields: Any) -> Any:
    return queue("q", {"tpu": {GPU: 64}}, **fields)


def assign(of: Snapshot, workload: Workload, simulate: Any = None, empty: bool = False) -> Assignment:
    state = WorkingState(of)
    return FlavorAssigner(state.flavors["q"], state.tree.queues["q"], workload, simulate, empty).assign()


def held(name: str, count: int = 1, **overrides: Any) -> Admission:
    fields: dict[str, Any] = {"flavors": {GPU: "tpu"}, "usage": {GPU: 8 * count}} | overrides
    return Admission("q", (PodSetAssignment(name, count, **fields),))


def placed(name: str, *places: tuple[str, int], **fields: Any) -> Workload:
    """A workload with 8 GPUs a pod, on these hosts."""
    count = sum(pods for _, pods in places)
    admission = held("workers", count, topology=on(*places))
    return workload(name, "q", pods(count=count, gpu=8, topology=NEAR), admission=admission, **fields)


@pytest.mark.parametrize(
    ("pod_set", "queues", "flavor"),
    [
        pytest.param(pods(gpu=1), None, "l4", id="pods that ask for no topology get the plain flavor"),
        pytest.param(pods(gpu=1, topology=TopologyRequest(group="g")), None, "l4", id="nor does a group ask"),
        pytest.param(pods(gpu=1, topology=NEAR), None, "tpu", id="pods that ask for one get it"),
        pytest.param(pods(gpu=1), only_tpu(), "tpu", id="pods that ask for none, where there is no other"),
        pytest.param(
            pods(gpu=1, topology=TopologyRequest(required="block")),
            None,
            None,
            id="a level that is not there",
        ),
        pytest.param(
            pods(gpu=1, topology=NEAR), queue("q", {"l4": {GPU: 64}}), None, id="a queue without topologies"
        ),
    ],
)
def test_pods_take_flavors_that_match_their_topology(
    pod_set: PodSet, queues: Any, flavor: str | None
) -> None:
    assignment = assign(cluster(queues=queues), workload("w", "q", pod_set))
    assert assignment.pod_sets[0].flavors.get(GPU) == flavor


def test_resources_that_no_pod_asks_for_may_come_from_a_plain_flavor() -> None:
    state = WorkingState(cluster())
    placer = Placer(state.queue("q"), state.topologies())
    assert placer.mismatch(pods(gpu=1, topology=NEAR), "l4", {"credits"}) is None
    assert placer.mismatch(pods(gpu=1, topology=NEAR), "l4", {GPU, "credits"}) == "has no topology"


def test_pods_are_placed_together_and_taken_account_of() -> None:
    first = workload("w", "q", pods("a", 1, 8, topology=NEAR), pods("b", 2, 8, topology=NEAR))
    assignment = assign(cluster(), first)
    assert assignment.mode is Mode.FIT
    assert [placed_on(choice.topology) for choice in assignment.pod_sets] == [
        [("y1", 1)],
        [("x1", 1), ("x2", 1)],
    ]
    assert [(of.flavor, placed_on(of.assignment)) for of in assignment.placed] == [
        ("tpu", [("y1", 1)]),
        ("tpu", [("x1", 1), ("x2", 1)]),
    ]


def test_a_pod_set_of_no_pods_is_not_placed() -> None:
    assignment = assign(cluster(), workload("w", "q", pods(count=0, gpu=8, topology=NEAR)))
    assert assignment.mode is Mode.FIT
    assert not assignment.placed


def test_pods_that_fit_the_quota_but_no_rack_need_preemption() -> None:
    running = placed("old", ("x1", 1))
    assignment = assign(cluster(running), workload("w", "q", pods(count=2, gpu=8, topology=NEAR)))
    assert assignment.mode is Mode.PREEMPT
    assert assignment.contested == {FlavorResource("tpu", GPU)}
    assert "allows to fit only 1 out of 2 pod(s)" in assignment.pod_sets[0].misplaced


def test_needs_beyond_all_preemption_do_not_fit() -> None:
    assignment = assign(cluster(), workload("w", "q", pods(count=3, gpu=8, topology=NEAR)))
    assert assignment.mode is Mode.NO_FIT
    assert assignment.pod_sets[0].misplaced


def test_pod_sets_that_are_placed_are_contested_with_the_one_that_is_not() -> None:
    running = placed("old", ("x1", 1), ("x2", 1))
    first = workload(
        "w", "q", pods("a", 1, 8, topology=NEAR), pods("b", 2, 8, topology=NEAR), pods("c", 1, 1)
    )
    modes = {choice.name: choice.mode for choice in assign(cluster(running), first).pod_sets}
    assert modes == {"a": Mode.PREEMPT, "b": Mode.PREEMPT, "c": Mode.FIT}


def test_empty_nodes_are_assumed() -> None:
    running = placed("old", ("x1", 1))
    first = workload("w", "q", pods(count=2, gpu=8, topology=NEAR))
    assert assign(cluster(running), first, empty=True).mode is Mode.FIT


def test_short_quota_is_looked_for_by_preemption_only_where_there_could_be_places() -> None:
    queues = only_tpu()
    running = workload("old", "q", pods(count=8, gpu=8), admission=held("workers", 8))
    simulate = lambda *_: PREEMPTING  # noqa: E731
    fits = assign(
        cluster(running, queues=queues), workload("w", "q", pods(count=2, gpu=8, topology=NEAR)), simulate
    )
    never = assign(
        cluster(running, queues=queues), workload("w", "q", pods(count=3, gpu=8, topology=NEAR)), simulate
    )
    assert (fits.mode, never.mode) == (Mode.PREEMPT, Mode.NO_FIT)


def test_pods_that_would_be_on_two_topologies_are_refused() -> None:
    two = queue("q", {"tpu": {GPU: 64}}, {"v5": {"cpu": 64_000}})
    of = snapshot(two, flavors=[TPU, Flavor("v5", topology="racks")], hosts=HOSTS)
    assignment = assign(of, workload("w", "q", pods(gpu=1, requests={"cpu": 1000})))
    assert assignment.mode is Mode.NO_FIT
    assert assignment.pod_sets[0].misplaced == "several flavors have a topology: tpu, v5"


def test_pods_with_nothing_to_be_placed_by_are_refused() -> None:
    assignment = assign(cluster(queues=only_tpu()), workload("w", "q", pods(requests={})))
    assert assignment.mode is Mode.NO_FIT
    assert assignment.pod_sets[0].misplaced == "no assigned flavor has a topology"


PROVISIONED = only_tpu(checks=(Check("make-nodes", provisions=True),))


def waiting_for_nodes(**fields: Any) -> Workload:
    defaults = {"admission": held("workers", 2, topology_delayed=True)} | fields
    return workload("w", "q", pods(count=2, gpu=8, topology=NEAR), **defaults)


def test_pods_whose_nodes_are_still_to_be_made_are_placed_later() -> None:
    first = assign(cluster(queues=PROVISIONED), workload("w", "q", pods(count=9, gpu=1, topology=NEAR)))
    assert first.mode is Mode.FIT
    assert first.pod_sets[0].topology_delayed
    assert not first.placed


def test_a_check_that_makes_nodes_of_other_flavors_delays_nothing() -> None:
    elsewhere = only_tpu(checks=(Check("make-nodes", frozenset({"l4"}), provisions=True),))
    assignment = assign(cluster(queues=elsewhere), workload("w", "q", pods(gpu=1, topology=NEAR)))
    assert not assignment.pod_sets[0].topology_delayed


def test_once_the_nodes_are_made_the_pods_are_placed_on_the_flavors_that_they_hold() -> None:
    pending_workload = waiting_for_nodes(checks={"make-nodes": CheckState.READY})
    assignment = assign(cluster(pending_workload, queues=PROVISIONED), pending_workload)
    assert placed_on(assignment.pod_sets[0].topology) == [("x1", 1), ("x2", 1)]
    assert assignment.pod_sets[0].topology_delayed
    assert assignment.admission("q").pod_sets[0].usage == {GPU: 16}


def test_only_pods_of_a_failed_node_move_and_are_counted_again() -> None:
    pending_workload = placed("w", ("x1", 1), unhealthy_nodes=("x1",))
    assignment = assign(cluster(pending_workload), pending_workload)
    assert placed_on(assignment.pod_sets[0].topology) == [("x2", 1)]
    assert [placed_on(of.assignment) for of in assignment.placed] == [[("x2", 1)]]


def test_pod_sets_that_the_failed_node_did_not_hit_stay() -> None:
    held_places = {"hit": on(("x1", 1)), "other": on(("y1", 1))}
    assigned = tuple(
        PodSetAssignment(name, 1, {GPU: "tpu"}, {GPU: 8}, topology) for name, topology in held_places.items()
    )
    pod_sets = (pods("hit", 1, 8, topology=NEAR), pods("other", 1, 8, topology=NEAR))
    first = workload("w", "q", *pod_sets, admission=Admission("q", assigned), unhealthy_nodes=("x1",))
    assignment = assign(cluster(first), first)
    assert [placed_on(choice.topology) for choice in assignment.pod_sets] == [[("x2", 1)], [("y1", 1)]]


def test_no_preemption_for_the_pods_of_a_failed_node() -> None:
    pending_workload = placed("w", ("x1", 1), unhealthy_nodes=("x1",))
    others = placed("b", ("x2", 1)), placed("c", ("y1", 1))
    assignment = assign(cluster(pending_workload, *others), pending_workload)
    assert assignment.mode is Mode.PREEMPT
    assert "doesn't allow to fit" in assignment.pod_sets[0].misplaced


def test_preemptor_reserves_its_places() -> None:
    first = workload("w", "q", pods(count=2, gpu=8, topology=NEAR))
    victim = placed("old", ("x1", 1))
    state = WorkingState(cluster(victim))
    placer = Placer(state.queue("q"), state.topologies())
    assignment = FlavorAssigner(state.flavors["q"], state.tree.queues["q"], first).assign()
    finds_places = placer.search(first, assignment)
    assert finds_places is not None
    assert not finds_places()
    placer.reserve(first, assignment, targets=True)
    assert not assignment.placed
    with state.without(state.holdings["q"].values()):
        assert finds_places()
        placer.reserve(first, assignment, targets=True)
    assert placed_on(assignment.pod_sets[0].topology) == [("x1", 1), ("x2", 1)]


def test_a_preemptor_without_victims_will_take_what_it_would_take_of_empty_nodes() -> None:
    first = workload("w", "q", pods(count=2, gpu=8, topology=NEAR))
    state = WorkingState(cluster(placed("old", ("x1", 1))))
    placer = Placer(state.queue("q"), state.topologies())
    assignment = FlavorAssigner(state.flavors["q"], state.tree.queues["q"], first).assign()
    placer.reserve(first, assignment, targets=False)
    assert [placed_on(of.assignment) for of in assignment.placed] == [[("x1", 1), ("x2", 1)]]


def test_nothing_is_kept_free_for_pods_without_a_topology() -> None:
    first = workload("w", "q", pods(gpu=1))
    state = WorkingState(cluster())
    assignment = FlavorAssigner(state.flavors["q"], state.tree.queues["q"], first).assign()
    placer = Placer(state.queue("q"), state.topologies())
    placer.reserve(first, assignment, targets=True)
    assert not assignment.placed
    assert placer.search(first, assignment) is None


@pytest.mark.parametrize(
    ("workload_item", "needed"),
    [
        pytest.param(workload("w", "q", 1), False, id="pending"),
        pytest.param(waiting_for_nodes(checks={"make-nodes": CheckState.READY}), True, id="nodes made"),
        pytest.param(waiting_for_nodes(checks={"make-nodes": CheckState.PENDING}), False, id="not yet"),
        pytest.param(waiting_for_nodes(), False, id="no check has begun"),
        pytest.param(
            waiting_for_nodes(checks={"make-nodes": CheckState.READY}, evicted=True), False, id="leaving"
        ),
        pytest.param(placed("w", ("x1", 1)), False, id="all nodes well"),
        pytest.param(placed("w", ("x1", 1), unhealthy_nodes=("x1",)), True, id="a node failed"),
        pytest.param(placed("w", ("x1", 1), unhealthy_nodes=("x2",)), False, id="a node failed elsewhere"),
        pytest.param(
            placed("w", ("x1", 1), unhealthy_nodes=("x1",), checks={"c": CheckState.PENDING}),
            False,
            id="not admitted yet",
        ),
    ],
)
def test_second_pass_is_needed(workload_item: Workload, needed: bool) -> None:
    assert needs_second_pass(workload_item) is needed


@pytest.mark.parametrize(
    ("before", "added"),
    [
        pytest.param(None, [("x1", 2), ("x2", 1)], id="nothing before"),
        pytest.param(on(("x1", 2), ("x2", 1)), [], id="the same"),
        pytest.param(on(("x1", 1), ("y1", 5)), [("x1", 1), ("x2", 1)], id="fewer, and some elsewhere"),
    ],
)
def test_pods_beyond_those_that_were_there(before: Any, added: list[tuple[str, int]]) -> None:
    assert placed_on(added_pods(on(("x1", 2), ("x2", 1)), before)) == added


def test_without_the_rule_topologies_are_not_looked_at() -> None:

    state = WorkingState(cluster(), Rules(topology=False))
    first = workload("w", "q", pods(count=3, gpu=8, topology=TopologyRequest(required="block")))
    assignment = FlavorAssigner(state.flavors["q"], state.tree.queues["q"], first).assign()
    assert (assignment.mode, assignment.pod_sets[0].flavors) == (Mode.FIT, {GPU: "tpu"})


def test_a_queue_is_inactive_while_a_topology_is_missing() -> None:
    state = WorkingState(replace(cluster(), topologies={}))
    assert state.inactive["q"] == "Topology racks of its flavors does not exist"


def test_a_gang_is_placed_once_its_nodes_are_made_though_its_head_needs_none() -> None:
    delayed = PodSetAssignment("workers", 1, {GPU: "tpu"}, {GPU: 8}, topology_delayed=True)
    head = PodSetAssignment("head", 1, {"cpu": "plain"}, {"cpu": 1000})
    sets = pods("head", requests={"cpu": 1000}), pods(gpu=8, topology=NEAR)
    ready = {"make-nodes": CheckState.READY}
    first = workload("w", "q", *sets, admission=Admission("q", (head, delayed)), checks=ready)
    assert needs_second_pass(first)
