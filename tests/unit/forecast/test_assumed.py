"""The block "Assumed and left out"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from muster.admission import TopologyRequest
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.futures import SimulationInputs
from muster.forecast.nodes import AssumedNodes, with_assumed_nodes
from muster.forecast.page import ForecastSide
from muster.forecast.page.page import page_text
from muster.forecast.placement import place
from muster.forecast.report.assumed import PlacedTrace, Remark, remarks, remarks_document, remarks_table
from muster.forecast.traces import sacct
from muster.forecast.traces.trace import Trace, TraceJob
from tests.unit.forecast.builders import (
    CHECKED,
    GPU,
    autoscaled,
    cancelled,
    configured,
    job,
    node,
    provisioned,
    queue,
    racks,
    simulated,
    with_flavors,
)

RACKED = racks()
RACKS = RACKED[0]
NODES = [node(name) for name in ("r1-a", "r1-b")]
DEFAULTS = Assumptions()
A = configured(queue("a", 8))


NEVER = "never start, even in the empty cluster: queue a: "
AUTOSCALED = "autoscaled: they ask for the workers of their record after their start (recorded demand)"
AT_LIMITS = "and at their limit for 25% of what they lack to their maximum"
SAME_RUN_TIMES = "their run times do not depend on their sizes"
SCALED = autoscaled("scaled", 0, 60, (0, 2))


def side(
    configuration: QueueConfiguration, jobs: Sequence[TraceJob], assumptions: Assumptions = DEFAULTS
) -> PlacedTrace:
    placement = place(jobs, configuration)
    return PlacedTrace(SimulationInputs(configuration, placement.jobs, assumptions), placement.left_out)


@dataclass(frozen=True)
class Case:
    expected: list[Remark]
    jobs: list[TraceJob] = field(default_factory=lambda: [job("one", 0, 10)])
    configuration: QueueConfiguration = A
    assumptions: Assumptions = field(default_factory=Assumptions)
    skipped: Mapping[str, int] = field(default_factory=dict)
    adjusted: Mapping[str, int] = field(default_factory=dict)


CASES = {
    "nothing": Case([]),
    "unplaced jobs": Case(
        [Remark("left out: queue 'b' is not in the configuration", 1)],
        jobs=[job("one", 0, 10), job("two", 0, 10, queue="b")],
    ),
    "jobs that request a resource without quota": Case(
        [Remark(f"{NEVER}pod set workers requests cpu, for which ClusterQueue a has no quota", 2)],
        jobs=[
            job("one", 0, 10),
            *(TraceJob(name, 0, 10, 1, {GPU: 1, "cpu": 1}, queue="a") for name in ("two", "three")),
            TraceJob("none", 0, 10, 1, {GPU: 1, "cpu": 0}, queue="a"),
        ],
    ),
    "jobs that are larger than all quota": Case(
        [
            Remark(
                f"{NEVER}needs 9 nvidia.com/gpu of flavor h100 but ClusterQueue a can have at most 8: "
                "request less, or raise its quota, and others",
                2,
            )
        ],
        jobs=[job("fits", 0, 10, gpus=8), job("nine", 0, 10, gpus=9), job("ten", 0, 10, gpus=10)],
    ),
    "jobs that are larger than their nodes": Case(
        [
            Remark(
                f'{NEVER}cannot fit its topology: for pod set workers, topology "by-rack" doesn\'t allow to '
                'fit any of 1 pod(s). Total nodes: 2; excluded: resource "nvidia.com/gpu": 2, even if all '
                "nodes were empty",
                1,
            )
        ],
        jobs=[job("fits", 0, 10, gpus=4), job("five", 0, 10, gpus=5)],
        configuration=configured(*RACKED, *NODES, queue("a", 8, flavor="racks")),
    ),
    "stopped queues": Case(
        [Remark(f"{NEVER}ClusterQueue a is stopped (stopPolicy Hold)", 1)],
        configuration=configured(queue("a", 8, stopPolicy="Hold")),
    ),
    "drawn run times": Case(
        [Remark("run time is not recorded: drawn from similar jobs", 2)],
        jobs=[job("one", 0, 10), job("two", 0, None), job("three", 0, None)],
    ),
    "cancelled jobs": Case(
        [Remark("cancelled before they started: they leave the queue after the recorded time", 1)],
        jobs=[job("one", 0, 10), cancelled("two", 0, 60)],
    ),
    "autoscaled jobs": Case(
        [Remark(f"{AUTOSCALED}; {SAME_RUN_TIMES}", 1)],
        jobs=[job("one", 0, 10), SCALED],
    ),
    "autoscaled jobs with a larger demand": Case(
        [
            Remark(f"{AUTOSCALED}, {AT_LIMITS}; {SAME_RUN_TIMES}", 1),
            Remark("unmet_demand is 0.25 (default: 0)"),
        ],
        jobs=[SCALED],
        assumptions=replace(DEFAULTS, unmet_demand=0.25),
    ),
    "ignored topologies": Case(
        [
            Remark(
                "topology by-rack of flavor racks is ignored, and only quota limits its gangs: there are no "
                "nodes of racks; --nodes PATH reads them"
            )
        ],
        configuration=configured(RACKS, queue("a", 8, flavor="racks")),
    ),
    "assumed nodes": Case(
        [
            Remark("flavor racks: gangs are placed on 6 assumed nodes, 2 in each rack"),
            Remark("flavor racks: gangs of its queues require one rack, unless the trace records a request"),
        ],
        configuration=with_assumed_nodes(
            configured(*RACKED, queue("a", 8, flavor="racks")),
            [AssumedNodes("racks", 6, {GPU: 4, "pods": 8}, {"rack": 2}, TopologyRequest(required="rack"))],
        ),
    ),
    "listed nodes": Case([], configuration=configured(*RACKED, *NODES, queue("a", 8, flavor="racks"))),
    "nodes that are created for each gang": Case(
        [Remark("flavor racks: gangs are not placed, as a ProvisioningRequest creates their nodes")],
        configuration=configured(*RACKED, *provisioned(), queue("a", 8, flavor="racks", **CHECKED)),
    ),
    "jobs that do not ask for a topology": Case(
        [Remark("queue a: jobs without a topology request do not use flavor racks")],
        configuration=configured(*RACKED, *NODES, with_flavors(queue("a", 8, flavor="racks"), queue("a", 8))),
    ),
    "queues without a job": Case(
        [Remark("no job in the trace: b, c")],
        configuration=configured(queue("a", 8), queue("c", 8), queue("b", 8)),
    ),
    "assumptions": Case(
        [Remark("start_up_s is 5 (default: 30)")], assumptions=replace(Assumptions(), start_up_s=5)
    ),
    "spot nodes that are never reclaimed": Case(
        [Remark("spot nodes are never reclaimed: spot_interruptions_per_node_hour is 0 (h100)")],
        configuration=replace(A, spot=frozenset({"h100"})),
    ),
    "spot nodes that are reclaimed": Case(
        [Remark("spot_interruptions_per_node_hour is 0.1 (default: 0)")],
        configuration=replace(A, spot=frozenset({"h100"})),
        assumptions=replace(Assumptions(), spot_interruptions_per_node_hour=0.1),
    ),
    "jobs that outlive their nodes": Case(
        [Remark("run longer than GKE keeps nodes of flavor h100 (1m00s): not interrupted", 1)],
        jobs=[job("one", 0, 60), job("two", 0, 61)],
        configuration=replace(A, node_life_s={"h100": 60, "l4": 1}),
    ),
    "skipped rows": Case([Remark("skipped: step of a job", 3)], skipped={"step of a job": 3}),
    "changed jobs": Case([Remark("changed: rounded", 4)], adjusted={"rounded": 4}),
}


@pytest.mark.parametrize("name", CASES)
def test_differences_from_the_trace_are_listed(name: str) -> None:
    case = CASES[name]
    trace = Trace("trace", case.jobs, skipped=case.skipped, adjusted=case.adjusted)
    assert remarks(trace, [side(case.configuration, case.jobs, case.assumptions)]) == case.expected


def test_bad_rows_are_counted_by_reason_with_the_first_of_each() -> None:
    lines = ["JobID|Submit|Start|End|ReqTRES", *(f"{n}|noon||| cpu=1" for n in range(1_500)), "1|2"]
    trace = sacct.read(lines, "log")
    expected = "expected a time in ISO 8601, such as 2026-03-01T09:30:00"
    assert remarks(trace, [side(A, [job("one", 0, 10)])]) == [
        Remark(f"invalid: log:2 and others: Submit is 'noon': {expected}", 1_500),
        Remark("invalid: log:1502: 2 columns: expected 5, as in the header", 1),
    ]


def test_remarks_about_one_configuration_name_it() -> None:
    jobs = [job("one", 0, 10), job("two", 0, None, queue="b")]
    after = replace(configured(queue("a", 8), queue("b", 8)), name="after")
    every = remarks(Trace("trace", jobs), [side(A, jobs), side(after, jobs)])
    assert every == [
        Remark("left out: queue 'b' is not in the configuration", 1, "test"),
        Remark("run time is not recorded: drawn from similar jobs", 1, "after"),
    ]
    (table,) = remarks_table(every)
    assert table.rows[0] == ("1", "test", "left out: queue 'b' is not in the configuration")
    assert remarks_document(every)[1]["configuration"] == "after"


def test_the_block_is_on_the_page() -> None:
    page = page_text(
        [ForecastSide("one", [simulated(A, job("one", 0, 10))])], remarks=[Remark("<left out>", 1_234)]
    )
    assert "<td>1,234</td><td>&lt;left out&gt;</td>" in page
