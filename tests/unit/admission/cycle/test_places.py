"""Decisions where pods are placed on nodes: places, victims, and moves."""

from dataclasses import replace
from typing import Any

import pytest

from muster.admission import (
    Check,
    CheckState,
    Engine,
    Flavor,
    Node,
    Plan,
    PodSet,
    PreemptionPolicy,
    Rules,
    Snapshot,
    Topology,
    TopologyRequest,
    WaitReason,
    Workload,
    decide,
)
from muster.admission.cycle.cycle import Cycle
from muster.admission.cycle.entry import Entry, EntryOutcome
from muster.admission.engine.contention import contenders
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import (
    GPU,
    NOW_MS,
    admitted,
    applied,
    host,
    messages,
    on,
    placed_on,
    pods,
    preempted,
    queue,
    reasons,
    running,
    snapshot,
    withdrawn,
    workload,
)

TPU = Flavor("tpu", topology="racks")
NEAR = TopologyRequest(required="rack")
HOSTS = (host("x1"), host("x2"), host("y1", rack="r2"))


def tpus(name: str = "q", quota: int = 64, **fields: Any) -> Any:
    return queue(name, {"tpu": {GPU: quota}}, **fields)


def gang(count: int, gpu: int = 8, **fields: Any) -> PodSet:
    return pods(count=count, gpu=gpu, topology=NEAR, **fields)


def cluster(queues: Any, *workloads: Workload, hosts: tuple[Node, ...] = HOSTS) -> Snapshot:
    return snapshot(queues, *workloads, flavors=[TPU], hosts=hosts)


def on_hosts(name: str, *places: tuple[str, int], in_queue: str = "q", **fields: Any) -> Workload:
    """A workload that runs with 8 GPUs a pod."""
    count = sum(pods for _, pods in places)
    admission = replace(
        running(name, in_queue).admission,  # type: ignore[type-var]
        pod_sets=(_placed(count, *places),),
    )
    return workload(name, in_queue, gang(count), admission=admission, **fields)


def _placed(count: int, *places: tuple[str, int]) -> Any:
    before = running("any").admission
    assert before is not None
    return replace(
        before.pod_sets[0],
        count=count,
        flavors={GPU: "tpu"},
        usage={GPU: 8 * count},
        topology=on(*places) if places else None,
        topology_delayed=not places,
    )


def places(plan: Plan) -> dict[str, list[tuple[str, int]]]:
    return {
        decision.workload.removeprefix("ns/"): [
            place for of in decision.admission.pod_sets for place in placed_on(of.topology)
        ]
        for decision in plan.admissions
    }


def test_gangs_get_places_as_long_as_there_are_some() -> None:
    plan = decide(cluster(tpus(), *(workload(name, "q", gang(2)) for name in "ab")), NOW_MS)
    assert places(plan) == {"a": [("x1", 1), ("x2", 1)]}
    assert reasons(plan) == {"b": WaitReason.TOPOLOGY}
    assert messages(plan)["b"].startswith(
        "has enough quota, but waits for nodes: for pod set workers, "
        'topology "racks" allows to fit only 1 out of 2 pod(s)'
    )


def test_a_gang_that_no_rack_can_hold_is_told_so() -> None:
    plan = decide(cluster(tpus(), workload("a", "q", gang(3))), NOW_MS)
    assert reasons(plan) == {"a": WaitReason.NEVER_FITS}
    assert messages(plan)["a"].startswith("cannot fit its topology: for pod set workers, ")
    assert messages(plan)["a"].endswith(", even if all nodes were empty")


def test_finished_workload_leaves_its_places() -> None:
    before = cluster(tpus(), on_hosts("old", ("x1", 1), evicted=True), workload("a", "q", gang(2)))
    assert not admitted(decide(before, NOW_MS))
    assert places(decide(replace(withdrawn(before), workloads=before.workloads[1:]), NOW_MS)) == {
        "a": [("x1", 1), ("x2", 1)]
    }


@pytest.mark.parametrize(
    ("recompute", "second"),
    [(True, EntryOutcome.ADMITTED), (False, EntryOutcome.CROWDED_OUT)],
    ids=["rule", "no rule"],
)
def test_queues_that_nominate_the_same_host(recompute: bool, second: EntryOutcome) -> None:
    """The later one searches again in the same cycle; without the rule, in the next cycle."""
    heads = workload("a", "q", gang(1)), workload("b", "p", gang(1), queued_at_ms=1)
    of = cluster([tpus("q"), tpus("p")], *heads)
    rules = Rules(topology_recompute=recompute)
    state = WorkingState(of, rules)
    entries = [
        Entry(head, state.queue(head.cluster_queue), state.tree.queues[head.cluster_queue]) for head in heads
    ]
    Cycle(state, 0, NOW_MS).run(entries)
    assert [entry.outcome for entry in entries] == [EntryOutcome.ADMITTED, second]
    assert places(decide(of, NOW_MS, rules)) == {"a": [("y1", 1)], "b": [("x1", 1)]}


def test_those_go_whose_places_help() -> None:
    """Quota is free; the lowest priority is in the wrong rack."""
    asks = tpus(within_queue=PreemptionPolicy.LOWER_PRIORITY)
    holders = on_hosts("wrong", ("y1", 1), priority=1), on_hosts("right", ("x1", 1), priority=2)
    before = cluster(asks, *holders, workload("new", "q", gang(2), priority=3))
    plan = decide(before, NOW_MS)
    assert preempted(plan) == [("right", "new")]
    after = withdrawn(applied(before, plan))
    assert places(decide(after, NOW_MS)) == {"new": [("x1", 1), ("x2", 1)]}


def test_no_victims_where_that_makes_no_places() -> None:
    asks = tpus(within_queue=PreemptionPolicy.LOWER_PRIORITY)
    before = cluster(asks, on_hosts("low", ("x1", 1)), workload("new", "q", gang(3), priority=3))
    assert not preempted(decide(before, NOW_MS))


def test_places_are_kept_for_a_preemptor_in_its_cycle() -> None:
    """The other queue's head could get the free host otherwise."""
    queues = [
        tpus("q", cohort="c", within_queue=PreemptionPolicy.LOWER_PRIORITY),
        tpus("p", cohort="c"),
    ]
    before = cluster(
        queues,
        on_hosts("low", ("x1", 1)),
        workload("new", "q", gang(2), priority=3),
        workload("other", "p", gang(1), priority=1),
        hosts=HOSTS[:2],
    )
    plan = decide(before, NOW_MS)
    assert preempted(plan) == [("low", "new")]
    assert not admitted(plan)


def test_as_many_pods_as_there_are_places_for() -> None:
    plan = decide(cluster(tpus(), workload("a", "q", gang(3, count_min=1))), NOW_MS)
    assert places(plan) == {"a": [("x1", 1), ("x2", 1)]}


PROVISIONED = tpus(checks=(Check("make-nodes", provisions=True),))


def awaiting_nodes(state: CheckState) -> Workload:
    held = replace(running("a").admission, pod_sets=(_placed(2),))  # type: ignore[type-var]
    return workload("a", "q", gang(2), admission=held, checks={"make-nodes": state})


def test_a_gang_whose_nodes_are_to_be_made_gets_quota_first() -> None:
    plan = decide(cluster(PROVISIONED, workload("a", "q", gang(2))), NOW_MS)
    (decision,) = plan.admissions
    assert decision.admission.pod_sets[0].topology_delayed
    assert places(plan) == {"a": []}


def test_it_is_placed_when_the_nodes_are_made() -> None:
    assert not decide(cluster(PROVISIONED, awaiting_nodes(CheckState.PENDING)), NOW_MS).admissions
    before = cluster(PROVISIONED, awaiting_nodes(CheckState.READY))
    plan = decide(before, NOW_MS)
    assert places(plan) == {"a": [("x1", 1), ("x2", 1)]}
    assert not decide(applied(before, plan), NOW_MS).admissions


def test_it_goes_on_waiting_where_the_nodes_are_taken() -> None:
    before = cluster(PROVISIONED, awaiting_nodes(CheckState.READY), on_hosts("old", ("x1", 1)))
    plan = decide(before, NOW_MS)
    assert (plan.admissions, plan.displaced) == ((), ())


def test_workload_that_ends_before_its_nodes_exist_is_not_placed() -> None:
    engine = Engine(cluster(PROVISIONED, awaiting_nodes(CheckState.READY), on_hosts("old", ("x1", 1))))
    assert not engine.decide(NOW_MS).admissions
    engine.remove("ns/a")
    engine.remove("ns/old")
    assert not engine.decide(NOW_MS).admissions
    assert engine.snapshot.workloads == ()


def failed(name: str, *where: tuple[str, int], **fields: Any) -> Workload:
    return on_hosts(name, *where, unhealthy_nodes=(where[0][0],), **fields)


def test_pods_of_a_failed_node_move() -> None:
    before = cluster(tpus(), failed("a", ("x1", 1)), workload("b", "q", gang(1)), workload("c", "q", gang(1)))
    plan = decide(before, NOW_MS)
    assert places(plan) == {"a": [("x2", 1)], "b": [("y1", 1)]}, "x1 counts as taken until it is left"
    assert places(decide(applied(before, plan), NOW_MS)) == {"c": [("x1", 1)]}, "and then it is free"


def test_a_gang_whose_failed_node_nothing_replaces_has_to_go() -> None:
    before = cluster(tpus(), failed("a", ("x1", 1), ("x2", 1)))
    plan = decide(before, NOW_MS)
    assert plan.displaced == ("ns/a",)
    assert not decide(before, NOW_MS, Rules(topology_fail_fast=False)).displaced


def test_without_the_rule_only_quota_counts() -> None:
    plan = decide(cluster(tpus(), workload("a", "q", gang(4))), NOW_MS, Rules(topology=False))
    assert places(plan) == {"a": []}


def test_queues_contend_for_hosts_whatever_the_topology_is_called() -> None:
    queues = [tpus("q"), queue("p", {"v5": {GPU: 64}}), queue("o", {"v6": {GPU: 64}}), queue("n", 64)]
    flavors = [TPU, Flavor("v5", topology="also racks"), Flavor("v6", topology="only racks")]
    of = snapshot(queues, flavors=flavors, hosts=HOSTS)
    others = {
        "also racks": Topology("also racks", ("rack", "kubernetes.io/hostname")),
        "only racks": Topology("only racks", ("rack",)),
    }
    state = WorkingState(replace(of, topologies={**of.topologies, **others}))
    assert sorted(map(sorted, contenders(state))) == [["n"], ["o"], ["p", "q"]]
    assert sorted(map(len, contenders(WorkingState(of, Rules(topology=False))))) == [1, 1, 1, 1]
