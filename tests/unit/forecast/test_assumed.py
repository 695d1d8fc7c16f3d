"""The block "Assumed and left out"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.futures import SimulationInputs
from muster.forecast.page import ForecastSide
from muster.forecast.page.page import page_text
from muster.forecast.placement import place
from muster.forecast.report.assumed import PlacedTrace, Remark, remarks, remarks_document, remarks_table
from muster.forecast.traces import sacct
from muster.forecast.traces.trace import Trace, TraceJob
from tests.unit.forecast.builders import autoscaled, cancelled, configured, flavor, job, queue, simulated

RACKS = flavor("racks") | {"spec": {"nodeLabels": {"pool": "racks"}, "topologyName": "by-rack"}}
DEFAULTS = Assumptions()
A = configured(queue("a", 8))


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
        [Remark("topology by-rack of flavor racks is ignored: only quota limits its gangs")],
        configuration=configured(RACKS, queue("a", 8, flavor="racks")),
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
