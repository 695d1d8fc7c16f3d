"""Autoscaled jobs of a trace in a forecast: their demand over time, the waits of their growth, and its
reports."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from muster.admission import TopologyRequest
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.report.growth import growth_change_tables, growth_document, growth_tables
from muster.forecast.results.growth import growth_waits
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.usage import usage
from muster.forecast.traces.trace import TraceJob
from tests.unit.forecast.builders import (
    AT_ONCE,
    CHECKED,
    PREEMPTS,
    attempts,
    autoscaled,
    configured,
    job,
    node,
    priority,
    provisioned,
    queue,
    racks,
    simulated,
)


@dataclass(frozen=True)
class Case:
    jobs: Sequence[TraceJob]
    grown: Sequence[str]  # as `job asked-granted workers`, in seconds
    below_s: float = 0  # of all jobs together
    hours: float | None = None  # accelerator-hours of all workers, if they are tested
    configuration: QueueConfiguration = field(default_factory=lambda: configured(queue("a", 4)))
    assumptions: Assumptions = AT_ONCE


PREEMPTING = configured(queue("a", 4, **PREEMPTS), priority("high", 9))
QUEUED = configured(queue("a", 4, **CHECKED), *provisioned())
MINUTE = replace(AT_ONCE, provisioning_median_s=60, provisioning_spread=0)

RACKS = configured(*racks(), node("r1-a"), node("r2-a"), queue("a", 8, flavor="racks"))
"""Two racks with four GPUs each."""

CASES: dict[str, Case] = {
    "it grows at once": Case([autoscaled("dev", 0, 3_600, (0, 4), least=1)], ["dev 0-0 3"], 0, 4),
    "it asks later": Case(
        [autoscaled("dev", 0, 3_600, (0, 1), (1_800, 3), least=1)], ["dev 1800-1800 2"], 0, 2
    ),
    "it returns workers": Case(
        [autoscaled("dev", 0, 3_600, (0, 4), (1_800, 2), least=1), job("other", 0, 600, 2)],
        ["dev 0-0 1", "dev 0-600 2"],
        600,
    ),
    "without a minimum": Case([autoscaled("dev", 0, 60, (0, 2))], ["dev 0-0 2"]),
    "another gang waits, and goes first": Case(
        [
            job("first", 0, 300, 3),
            autoscaled("dev", 10, 3_600, (0, 4), least=1),
            job("second", 20, 300, 3),
        ],
        ["dev 10-600 3"],
        590,
    ),
    "a gang of the same priority preempts workers": Case(
        [autoscaled("dev", 0, 3_600, (0, 4), least=1), job("other", 60, 300, 3)],
        ["dev 0-0 3", "dev 60-390 3"],
        330,
    ),
    "a gang gets the quota that it returns": Case(
        [
            autoscaled("dev", 0, 3_600, (0, 4), (600, 1), least=1, priority_class="high"),
            job("other", 60, 300, 3),
        ],
        ["dev 0-0 3"],
        configuration=PREEMPTING,
    ),
    "part of its demand is never met": Case(
        [autoscaled("dev", 0, 600, (0, 6), least=1)], ["dev 0-0 3", "dev 0-never 2"], 600
    ),
    "its demand falls before it is met": Case(
        [autoscaled("dev", 0, 600, (0, 6), (300, 5), (400, 4), least=1)], ["dev 0-0 3"], 400
    ),
    "production preempts workers": Case(
        [
            autoscaled("dev", 0, 3_600, (0, 4), least=1),
            job("prod", 600, 300, 2, priority_class="high"),
        ],
        ["dev 0-0 3", "dev 600-930 2"],
        330,
        configuration=PREEMPTING,
        assumptions=replace(AT_ONCE, notice_s=30),
    ),
    "it asks once its nodes are provisioned": Case(
        [autoscaled("dev", 0, 3_600, (0, 3), (600, 4), least=1)],
        ["dev 60-60 2", "dev 660-660 1"],
        configuration=QUEUED,
        assumptions=MINUTE,
    ),
    "a limited demand may be larger": Case(
        [autoscaled("dev", 0, 600, (0, 2), least=1, most=6, limited=True)],
        ["dev 0-0 3"],
        assumptions=replace(AT_ONCE, unmet_demand=0.5),
    ),
    "it grows in its rack": Case(
        [autoscaled("dev", 0, 600, (0, 6), least=1, topology=TopologyRequest(required="rack"))],
        ["dev 0-0 3", "dev 0-never 2"],
        600,
        configuration=RACKS,
    ),
    "it prefers its rack": Case(
        [autoscaled("dev", 0, 600, (0, 6), least=1, topology=TopologyRequest(preferred="rack"))],
        ["dev 0-0 5"],
        configuration=RACKS,
    ),
    "requests are assumed": Case(
        [autoscaled("dev", 0, 600, (0, 6), least=1)],
        ["dev 0-0 3", "dev 0-never 2"],
        600,
        configuration=replace(RACKS, topology_requests={"racks": TopologyRequest(required="rack")}),
    ),
    "jobs of a fixed size": Case([job("other", 0, 600, 2)], []),
}


def grown(outcome: SimulationOutcome) -> list[str]:
    rows = outcome.growth
    return [
        f"{outcome.jobs[of].name} {asked_ms / 1000:g}-"
        f"{'never' if granted_ms < 0 else format(granted_ms / 1000, 'g')} {pods}"
        for of, asked_ms, granted_ms, pods in zip(
            rows.job, rows.asked_ms, rows.granted_ms, rows.pods, strict=True
        )
    ]


@pytest.mark.parametrize("name", CASES)
def test_growth(name: str) -> None:
    case = CASES[name]
    outcome = simulated(case.configuration, *case.jobs, assumptions=case.assumptions)
    assert grown(outcome) == list(case.grown)
    assert sum(outcome.growth.below_ms.values()) / 1000 == case.below_s
    if case.hours is not None:
        assert sum(use.held for use in usage(outcome).flavors.values()) == case.hours
        assert usage(outcome).hours_by_team == {("a", "h100"): case.hours}


def test_gang_of_a_fixed_size_starts_when_workers_are_returned() -> None:
    outcome = simulated(PREEMPTING, *CASES["a gang gets the quota that it returns"].jobs)
    assert attempts(outcome) == ["dev 0-0-3600 FINISHED", "other 600-600-900 FINISHED"]


BUSY = [job("other", 0, 600, 2), autoscaled("dev", 0, 1_200, (0, 4), least=1)]
SMALL, LARGE = (simulated(configured(queue("a", gpus)), *BUSY) for gpus in (4, 8))
FIXED = simulated(configured(queue("a", 4)), job("other", 0, 600, 2))


def test_waits_of_growth_by_queue() -> None:
    """Two of three workers wait for ten minutes, in which their job has less than it asks for."""
    every, of_queue = growth_waits([SMALL])
    assert (every.queue, of_queue.queue) == ("", "a")
    assert replace(every, queue="a") == of_queue
    assert (every.jobs, every.granted, every.never) == (1, 3, 0)
    assert (every.mean_s, every.p90_s, every.below_s, every.below_share) == (400, 600, 600, 0.5)


def test_waits_of_growth_are_means_over_futures() -> None:
    every = growth_waits([SMALL, LARGE])[0]
    assert (every.granted, every.mean_s, every.below_share) == (3, 200, 0.25)


def test_growth_is_a_table_of_its_own() -> None:
    (table,) = growth_tables([SMALL])
    assert table.rows[0] == ("all queues", "1", "3", "6m40s", "10m00s", "-", "10m00s", "50.0%")
    assert growth_tables([FIXED]) == []


def test_growth_before_and_after_a_change() -> None:
    (table,) = growth_change_tables([SMALL], [LARGE])
    assert table.rows[1] == (
        *("a", "6m40s", "0s", "-6m40s", "10m00s", "0s"),
        *("-", "-", "10m00s", "0s", "-10m00s"),
    )
    assert growth_change_tables([FIXED], [FIXED]) == []
    (table,) = growth_change_tables([FIXED], [LARGE])
    assert table.rows[1] == ("a", "-", "0s", "-", "-", "0s", "-", "-", "-", "0s", "-")


def test_growth_for_programs() -> None:
    every, _ = growth_document([SMALL])
    assert every["queue"] == ""
    assert every["below_share"] == 0.5
