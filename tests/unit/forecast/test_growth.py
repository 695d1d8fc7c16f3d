"""Growth of autoscaled gangs in simulations that begin in the state of a running cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from muster import admission as core
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.placement import PlacedJob
from muster.forecast.simulation.resumed import FirstGrowth, Initial, InitialWorkload, ResumedSimulator
from muster.forecast.simulation.worker_group import NextNodes, WorkerGroup
from tests.unit.forecast.builders import AT_ONCE, CHECKED, GPU, PREEMPTS, configured, provisioned, queue

NOW_S = 1_000
HORIZON_S = 100_000
GROUP = "gpu"

Live = tuple[PlacedJob, InitialWorkload]


def gang(
    name: str,
    gpus: int,
    run_s: float = 50_000,
    *,
    runs: bool = True,
    group: WorkerGroup | None = None,
    priority: int = 0,
    evicted: bool = False,
    terminating: Mapping[str, int] | None = None,
    ended: bool = False,
    nodes: NextNodes | None = None,
) -> Live:
    """A workload of queue `a` with a GPU for each pod, which has just begun or waits since long ago."""
    pod_sets = (core.PodSet(GROUP, gpus, {GPU: 1}),)
    assigned = core.PodSetAssignment(GROUP, gpus, {GPU: "h100"}, {GPU: gpus})
    workload = core.Workload(
        key=f"team/{name}",
        uid=name,
        cluster_queue="a",
        priority=priority,
        queued_at_ms=900_000,
        pod_sets=pod_sets,
        admission=core.Admission("a", (assigned,)) if runs else None,
        reserved_at_ms=1_000 * NOW_S if runs else 0,
        evicted=evicted,
    )
    job = PlacedJob(
        name=name,
        submit_ms=workload.queued_at_ms,
        queue="a",
        priority_class="",
        user="",
        pods=gpus,
        accelerators=gpus,
        run_ms=round(1000 * run_s),
        priority=priority,
        pod_sets=pod_sets,
        groups={} if group is None else {GROUP: group},
    )
    initial = InitialWorkload(
        workload=workload,
        started_ms=1_000 * NOW_S if runs else None,
        ended=ended,
        terminating=terminating or {},
        nodes={} if nodes is None else {GROUP: nodes},
    )
    return job, initial


def asks(asked: int, most: int | None = None, least: int = 2, replica: int = 1) -> WorkerGroup:
    return WorkerGroup(least, replica, asked, asked if most is None else most)


def requested(pods: int, ago_s: float) -> NextNodes:
    """Pods whose nodes were requested some seconds ago."""
    return NextNodes(pods, round(1_000 * (NOW_S - ago_s)), "dev-growth-gpu-1")


def refused(again_s: float) -> NextNodes:
    """Nodes that were refused, and may be requested again after some seconds."""
    return NextNodes(0, round(1_000 * (NOW_S + again_s)), "dev-growth-gpu-1")


@dataclass(frozen=True)
class Case:
    others: list[Live]
    scaled: Live
    expected: tuple[float, int] | None  # after how many seconds, and by how many pods
    configuration: QueueConfiguration = field(default_factory=lambda: configured(queue("a", 8)))
    assumptions: Assumptions = AT_ONCE


PREEMPTING = configured(queue("a", 8, **PREEMPTS))
NODES = replace(AT_ONCE, provisioning_median_s=60, provisioning_spread=0)
QUEUED = configured(queue("a", 8, **CHECKED), *provisioned())
QUEUED_PREEMPTING = configured(queue("a", 8, **CHECKED, **PREEMPTS), *provisioned())

CASES: dict[str, Case] = {
    "free quota": Case([], gang("dev", 2, group=asks(6)), (0, 4)),
    "as much as is free": Case([gang("other", 4)], gang("dev", 2, group=asks(6)), (0, 2)),
    "it waits for another's end": Case([gang("other", 6, 300)], gang("dev", 2, group=asks(4)), (300, 2)),
    "what the first end leaves": Case(
        [gang("short", 1, 300), gang("long", 5, 400)], gang("dev", 2, group=asks(6)), (300, 1)
    ),
    "whole replicas": Case(
        [gang("short", 1, 300), gang("long", 5, 400)], gang("dev", 2, group=asks(6, replica=2)), (400, 4)
    ),
    "a waiting gang goes first": Case(
        [gang("short", 2, 300), gang("long", 4, 400), gang("gang", 2, runs=False)],
        gang("dev", 2, group=asks(4)),
        (400, 2),
    ),
    "a more important grower goes first": Case(
        [gang("short", 2, 300), gang("long", 2, 400), gang("prod", 2, group=asks(4), priority=9)],
        gang("dev", 2, group=asks(4)),
        (400, 2),
    ),
    "at its limit it would ask for one more": Case(
        [gang("other", 6, 300)], gang("dev", 2, group=asks(2, most=9)), (300, 1)
    ),
    "it has all that it asks for, and quota is free": Case(
        [gang("other", 5, 300)], gang("dev", 2, group=asks(2, most=9)), None
    ),
    "at its largest size": Case([gang("other", 6, 300)], gang("dev", 2, group=asks(2)), None),
    "it ends before": Case([gang("other", 6, 300)], gang("dev", 2, 200, group=asks(4)), None),
    "it has ended": Case([gang("other", 6, 300)], gang("dev", 2, group=asks(4), ended=True), None),
    "workers of another terminate": Case(
        [gang("other", 4, terminating={GROUP: 2}, group=asks(4, least=1))],
        gang("dev", 2, group=asks(4)),
        (30, 2),
        assumptions=replace(AT_ONCE, notice_s=30),
    ),
    "it starts first": Case([gang("other", 8, 300)], gang("dev", 2, runs=False, group=asks(6)), (300, 4)),
    "its nodes are provisioned": Case(
        [gang("other", 6, 300)], gang("dev", 2, group=asks(4)), (360, 2), QUEUED, NODES
    ),
    "its own nodes are provisioned first": Case(
        [], gang("dev", 2, runs=False, group=asks(4)), (120, 2), QUEUED, NODES
    ),
    "its nodes have been requested": Case(
        [], gang("dev", 6, group=asks(6), nodes=requested(4, ago_s=20)), (40, 4), QUEUED, NODES
    ),
    "the nodes are late": Case(
        [], gang("dev", 6, group=asks(6), nodes=requested(4, ago_s=90)), (0, 4), QUEUED, NODES
    ),
    "it asks for no more than the nodes": Case(
        [gang("other", 2, 10)],
        gang("dev", 6, group=asks(6, most=9), nodes=requested(1, 20)),
        (40, 1),
        QUEUED,
        NODES,
    ),
    "it ends before its nodes": Case(
        [], gang("dev", 6, 30, group=asks(6), nodes=requested(4, ago_s=20)), None, QUEUED, NODES
    ),
    "production preempts some of the requested": Case(
        [gang("prod", 3, runs=False, priority=9)],
        gang("dev", 6, group=asks(6), nodes=requested(4, ago_s=20)),
        (40, 3),
        QUEUED_PREEMPTING,
        NODES,
    ),
    "production preempts all of the requested, and ends": Case(
        [gang("prod", 6, 300, runs=False, priority=9)],
        gang("dev", 6, group=asks(6), nodes=requested(4, ago_s=20)),
        (450, 4),
        QUEUED_PREEMPTING,
        NODES,
    ),
    "production preempts it before its nodes, and it returns and grows": Case(
        [gang("prod", 7, 300, runs=False, priority=9)],
        gang("dev", 6, group=asks(6), nodes=requested(4, ago_s=20)),
        (480, 4),
        QUEUED_PREEMPTING,
        NODES,
    ),
    "nodes were refused": Case(
        [], gang("dev", 2, group=asks(2, most=9), nodes=refused(again_s=100)), (160, 1), QUEUED, NODES
    ),
    "nodes were refused, and no quota is free then": Case(
        [gang("other", 6, 300)],
        gang("dev", 2, group=asks(2, most=9), nodes=refused(again_s=100)),
        (360, 1),
        QUEUED,
        NODES,
    ),
    "nodes were refused, and quota is free before": Case(
        [gang("other", 6, 50)],
        gang("dev", 2, group=asks(2, most=9), nodes=refused(again_s=100)),
        (160, 1),
        QUEUED,
        NODES,
    ),
    "production preempts its surplus, and ends": Case(
        [gang("prod", 3, 300, runs=False, priority=9)],
        gang("dev", 6, group=asks(8)),
        (330, 2),
        PREEMPTING,
        replace(AT_ONCE, notice_s=30),
    ),
    "production preempts it, and it returns at its minimum": Case(
        [gang("prod", 7, 300, runs=False, priority=9)],
        gang("dev", 6, group=asks(8)),
        (300, 2),
        PREEMPTING,
    ),
    "it is being evicted": Case(
        [gang("prod", 6, 300)], gang("dev", 2, group=asks(4), evicted=True), (300, 2)
    ),
}


def simulated(case: Case) -> ResumedSimulator:
    jobs, initial = zip(*case.others, case.scaled, strict=True)
    return ResumedSimulator(
        case.configuration, jobs, case.assumptions, 0, Initial(1_000 * NOW_S, list(initial))
    )


@pytest.mark.parametrize("name", CASES)
def test_first_growth(name: str) -> None:
    case = CASES[name]
    number, simulator = len(case.others), simulated(case)
    admission = case.scaled[1].workload.admission
    size = admission.pod_sets[0].count if admission is not None else 2
    simulator.starts_ms((), 1_000 * HORIZON_S, {(number, GROUP): size})
    expected = case.expected
    growth = None if expected is None else FirstGrowth(round(1_000 * (NOW_S + expected[0])), expected[1])
    assert simulator.growth.get((number, GROUP)) == growth


@pytest.mark.parametrize(
    ("name", "is_asking"),
    [
        ("it waits for another's end", True),
        ("free quota", True),
        ("at its limit it would ask for one more", True),
        ("it has all that it asks for, and quota is free", False),
        ("at its largest size", False),
        ("it ends before", True),
    ],
)
def test_groups_that_ask_for_more(name: str, is_asking: bool) -> None:
    case = CASES[name]
    simulator = simulated(case)
    simulator.starts_ms((), 1_000 * HORIZON_S, {(len(case.others), GROUP): 2})
    assert bool(simulator.asking) is is_asking


def test_a_simulation_of_growers_ends() -> None:
    """All that they hold is released at their ends."""
    growers = [gang(f"dev{n}", 2, 300 + n, group=asks(8)) for n in range(3)]
    jobs, initial = zip(*growers, strict=True)
    configuration = configured(queue("a", 8))
    simulator = ResumedSimulator(configuration, jobs, AT_ONCE, 0, Initial(1_000 * NOW_S, list(initial)))
    outcome = simulator.run()
    assert [ended - 1_000 * NOW_S for ended in outcome.attempts.ended_ms] == [300_000, 301_000, 302_000]
    assert simulator.waiting(outcome.end_ms) == []
