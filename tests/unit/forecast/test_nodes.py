"""Gangs of flavors with a topology: they wait for nodes of one domain, not only for quota."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from muster import admission as core
from muster.forecast.configuration import ConfigurationError, QueueConfiguration
from muster.forecast.nodes import AssumedNodes, with_assumed_nodes, with_nodes
from muster.forecast.placement import PODS, place
from muster.forecast.queue_objects import read_nodes
from muster.forecast.simulation.resumed import Initial, InitialWorkload, ResumedSimulator
from muster.forecast.traces.trace import TraceJob
from tests.unit.forecast.builders import (
    AT_ONCE,
    CHECKED,
    GPU,
    attempts,
    configured,
    job,
    node,
    placed,
    provisioned,
    queue,
    racks,
    simulated,
    with_flavors,
)

RACK, NODE = core.TopologyRequest(required="rack"), core.TopologyRequest(preferred=core.HOSTNAME)
ANY_RACK = core.TopologyRequest(preferred="rack")
A = queue("a", 16, flavor="racks")
NODES = [node(name) for name in ("r1-a", "r1-b", "r2-a", "r2-b")]
ON_NODES = configured(*racks(), *NODES, A)
ASSUMED = AssumedNodes("racks", 4, {GPU: 4, "pods": 110}, {"rack": 2})


def full_nodes(*run_s: float) -> list[TraceJob]:
    """Jobs that fill one node each, in the order of the nodes."""
    return [job(f"node-{number}", 0, seconds, gpus=4) for number, seconds in enumerate(run_s)]


def gang(topology: core.TopologyRequest | None) -> TraceJob:
    """A gang of two pods that fill a node each, at 20 s."""
    return job("gang", 20, 10, gpus=4, pods=2, topology=topology)


# After 10 s, one node of each rack is free.
APART = full_nodes(10, 100, 10, 200)
QUOTA_ONLY = "gang 20-20-30 FINISHED"
ONE_RACK = "gang 100-100-110 FINISHED"


@dataclass(frozen=True)
class Case:
    configuration: QueueConfiguration
    topology: core.TopologyRequest | None
    expected: str  # attempt of the gang


CASES = {
    "a gang waits for a whole rack, though quota is free": Case(ON_NODES, RACK, ONE_RACK),
    "a gang prefers a rack": Case(ON_NODES, ANY_RACK, QUOTA_ONLY),
    "a gang without a request uses any nodes": Case(ON_NODES, None, QUOTA_ONLY),
    "without nodes, requests and topologies do not count": Case(configured(*racks(), A), RACK, QUOTA_ONLY),
    "nodes are assumed": Case(with_assumed_nodes(configured(*racks(), A), [ASSUMED]), RACK, ONE_RACK),
    "all assumed nodes are in one domain, unless its size is set": Case(
        with_assumed_nodes(configured(*racks(), A), [replace(ASSUMED, domain_sizes={})]), RACK, QUOTA_ONLY
    ),
    "requests are assumed": Case(
        with_assumed_nodes(configured(*racks(), A), [replace(ASSUMED, request=RACK)]), None, ONE_RACK
    ),
    "a recorded request has precedence": Case(
        with_assumed_nodes(configured(*racks(), A), [replace(ASSUMED, request=RACK)]), NODE, QUOTA_ONLY
    ),
    "listed nodes replace assumed ones": Case(
        with_nodes(
            with_assumed_nodes(configured(*racks(), A), [replace(ASSUMED, domain_sizes={})]),
            read_nodes("nodes", NODES),
        ),
        RACK,
        ONE_RACK,
    ),
    "cordoned nodes are not used, taints and missing conditions do not matter": Case(
        configured(
            *racks(),
            *(node(name, taints=[{"key": GPU, "effect": "NoSchedule"}]) for name in ("r1-a", "r1-b", "r2-a")),
            node("r2-b"),
            node("r3-a", unschedulable=True),
            node("r3-b", unschedulable=True),
            A,
        ),
        RACK,
        ONE_RACK,
    ),
    "nodes without a level of the topology are not used": Case(
        configured(
            *racks(), *NODES, {**node("r3-a"), "metadata": {"name": "x", "labels": {"pool": "racks"}}}, A
        ),
        RACK,
        ONE_RACK,
    ),
    "nodes that a ProvisioningRequest creates are not placed": Case(
        configured(*racks(), *provisioned(), A | {"spec": A["spec"] | CHECKED}), RACK, QUOTA_ONLY
    ),
    "a request excludes flavors without a topology": Case(
        configured(*racks(), *NODES, with_flavors(A, queue("a", 16))), RACK, ONE_RACK
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_gang_starts_if_its_pods_can_be_placed(name: str) -> None:
    case = CASES[name]
    jobs = [replace(of, topology=NODE) if case.topology else of for of in APART]
    assumptions = replace(AT_ONCE, provisioning_median_s=0)
    outcome = simulated(case.configuration, *jobs, gang(case.topology), assumptions=assumptions)
    assert case.expected in attempts(outcome)


def test_preempted_gang_is_placed_again() -> None:
    preempting = A["spec"] | {"preemption": {"withinClusterQueue": "LowerPriority"}}
    classes = [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in (("low", 0), ("high", 1))
    ]
    configuration = configured(*racks(), *NODES, *classes, A | {"spec": preempting})
    low = [replace(of, priority_class="low") for of in full_nodes(100, 100, 100, 100)]
    outcome = simulated(configuration, *low, replace(gang(RACK), priority_class="high"))
    rows = attempts(outcome)
    assert sum("PREEMPTED" in row for row in rows) == 2
    assert "gang 20-20-30 FINISHED" in rows
    assert len([row for row in rows if "-30-130 FINISHED" in row]) == 2


def test_estimates_place_gangs_beside_the_pods_that_run() -> None:
    def running(name: str, host: str) -> tuple[TraceJob, InitialWorkload]:
        assigned = core.TopologyAssignment((core.HOSTNAME,), (core.TopologyDomain((host,), 1),))
        pod_set = core.PodSetAssignment(PODS, 1, {GPU: "racks"}, {GPU: 4}, assigned)
        workload = core.Workload(
            f"team/{name}",
            name,
            "a",
            0,
            0,
            (core.PodSet(PODS, 1, {GPU: 4}),),
            core.Admission("a", (pod_set,)),
        )
        return job(name, 0, {"r1-a": 100, "r2-a": 200}[host], gpus=4), InitialWorkload(workload, 0)

    there = [running("one", "r1-a"), running("two", "r2-a")]
    waiting = core.Workload("team/gang", "gang", "a", 0, 0, (core.PodSet(PODS, 2, {GPU: 4}, topology=RACK),))
    jobs = placed(ON_NODES, [*(of for of, _ in there), replace(gang(RACK), submit_ms=0)])
    initial = Initial(50_000, [*(of for _, of in there), InitialWorkload(waiting)])
    starts = ResumedSimulator(ON_NODES, jobs, AT_ONCE, 0, initial).starts_ms([2], 10_000_000)
    assert starts == {2: 100_000}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an amount that is no quantity": (
        {**node("r1-a"), "status": {"allocatable": {GPU: "many"}}},
        "nodes: Node r1-a: 'many' is not a quantity",
    ),
    "a field of the wrong type": (node("r1-a", unschedulable="yes"), "Node r1-a: Expected `bool`"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_nodes_are_refused(name: str) -> None:
    manifest, message = REFUSED[name]
    with pytest.raises(ConfigurationError, match=message):
        read_nodes("nodes", [manifest])


def test_jobs_share_pod_sets_by_their_requests() -> None:
    jobs = place([gang(RACK), gang(RACK), gang(None)], ON_NODES).jobs
    assert jobs[0].pod_sets is jobs[1].pod_sets
    assert (jobs[0].pod_sets[0].topology, jobs[2].pod_sets[0].topology) == (RACK, None)
