"""Other demands: jobs of a queue are copied or omitted, and teams are added."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.forecast.demand.copies import SHIFT_MS_MAX
from muster.forecast.demand.demand import ALL, AddedTeam, Demand, demanded
from muster.forecast.demand.teams import with_queues
from muster.forecast.placement import place
from muster.forecast.traces.trace import Trace, TraceJob
from tests.unit.forecast.builders import (
    AT_ONCE,
    CHECKED,
    attempts,
    configured,
    job,
    provisioned,
    queue,
    simulated,
)

HOUR_S = 3600
FACTORS = st.floats(0, 3)


def trace(*jobs: TraceJob) -> Trace:
    return Trace("trace", sorted(jobs, key=lambda job: job.submit_ms))


def hourly(of: str, count: int = 200, **more: Any) -> list[TraceJob]:
    return [job(f"{of}-{n}", n * HOUR_S, 600, queue=of, **more) for n in range(count)]


def with_demand(of: Trace, demand: Demand) -> Trace:
    return demanded(of, [{job.queue} for job in of.jobs], demand)


def names(of: Trace, queue: str) -> set[str]:
    return {job.name for job in of.jobs if job.queue == queue}


@pytest.mark.parametrize("factor", [0, 0.5, 1, 1.3, 2.7])
def test_a_queue_has_as_many_jobs_as_its_factor_says(factor: float) -> None:
    scaled = with_demand(trace(*hourly("a", 1000), *hourly("b", 10)), Demand({"a": factor}))
    assert len(names(scaled, "a")) == pytest.approx(1000 * factor, abs=50)
    assert len(names(scaled, "b")) == 10


@given(st.lists(FACTORS, min_size=2, max_size=2).map(sorted))
def test_a_larger_demand_has_all_jobs_of_a_smaller_one(factors: list[float]) -> None:
    """Therefore demands can be compared with each other, and bisected."""
    few, many = (with_demand(trace(*hourly("a", 50)), Demand({"a": factor})) for factor in factors)
    assert names(few, "a") <= names(many, "a")


@given(FACTORS, st.integers(0, 3))
def test_another_demand_of_one_queue_leaves_jobs_and_draws_of_others_alone(factor: float, seed: int) -> None:
    """Delays, stock-outs and failures are drawn by the names of jobs."""
    checks = replace(AT_ONCE, provisioning_median_s=20, failures_per_node_hour=5, stock_out_probability=0.1)
    configuration = configured(queue("a", 8, **CHECKED), queue("b", 8, **CHECKED), *provisioned())
    recorded = trace(*hourly("a", 10), *hourly("b", 10))
    outcomes = [
        [
            line
            for line in attempts(simulated(configuration, *of.jobs, assumptions=checks, seed=seed))
            if line.startswith("b-")
        ]
        for of in (recorded, with_demand(recorded, Demand({"a": factor})))
    ]
    assert outcomes[0] == outcomes[1]


def test_copies_are_submitted_within_an_hour_of_their_original() -> None:
    scaled = with_demand(trace(*hourly("a")), Demand({"a": 2}))
    at = {job.name: job.submit_ms for job in scaled.jobs}
    shifts = [at[name] - at[name.removesuffix("~2")] for name in at if name.endswith("~2")]
    assert len(shifts) == 200
    assert len(set(shifts)) > 190
    assert max(map(abs, shifts)) <= SHIFT_MS_MAX
    assert [job.submit_ms for job in scaled.jobs] == sorted(at.values())
    assert 0 <= min(at.values()) <= max(at.values()) <= 199 * HOUR_S * 1000


def test_a_copy_is_alike_but_records_neither_a_wait_nor_delays() -> None:
    original = job("one", 0, 600, 4, waited_ms=5, start_up_ms=6, provisioning_ms=7, user="ann", limit_ms=8)
    first, copy = with_demand(trace(original), Demand({"a": 2})).jobs
    assert first == original
    assert copy == replace(original, name="one~2", waited_ms=None, start_up_ms=None, provisioning_ms=None)


def test_jobs_of_one_name_are_drawn_each() -> None:
    nightly = [job("nightly", n * HOUR_S, 600) for n in range(200)]
    assert 70 < len(with_demand(trace(*nightly), Demand({"a": 0.5})).jobs) < 130


def test_an_added_team_has_copies_of_all_jobs_of_its_model() -> None:
    recorded = trace(*hourly("a", 10, user="ann"), *hourly("b", 10))
    demand = Demand(teams=[AddedTeam("new", like="a")])
    changed = with_demand(recorded, demand)
    copies = [job for job in changed.jobs if job.queue == "new"]
    assert {job.name for job in copies} == {f"new/a-{n}" for n in range(10)}
    assert {job.user for job in copies} == {"new/ann"}
    assert [job for job in changed.jobs if job.queue != "new"] == recorded.jobs
    assert changed.adjusted == {"jobs of new are copies of a's, up to an hour apart": 10}


def test_an_added_team_can_be_scaled() -> None:
    demand = Demand({"new": 2}, [AddedTeam("new", like="a")])
    changed = with_demand(trace(*hourly("a", 10)), demand)
    assert (len(names(changed, "a")), len(names(changed, "new"))) == (10, 20)


def test_all_other_queues_have_the_factor_of_all() -> None:
    recorded = trace(*hourly("a"), *hourly("b"), *hourly("c"))
    changed = with_demand(recorded, Demand({"a": 2, ALL: 0}))
    assert [len(names(changed, of)) for of in "abc"] == [400, 0, 0]
    assert changed.skipped == {"demand of all other queues x 0": 400}
    assert changed.adjusted == {"demand of a x 2: copies, up to an hour apart": 200}


def test_a_queue_may_be_called_all() -> None:
    changed = with_demand(trace(*hourly("a"), *hourly(ALL)), Demand({ALL: 0}))
    assert [len(names(changed, of)) for of in ("a", ALL)] == [200, 0]


def test_the_recorded_jobs_remain_for_what_is_learned_from_them() -> None:
    recorded = trace(*hourly("a"))
    assert with_demand(recorded, Demand({"a": 0.1})).measured == recorded.jobs
    assert with_demand(recorded, Demand()) is recorded


def test_the_queue_of_a_team_is_a_copy_of_its_model() -> None:
    configuration = configured(queue("a", 8, cohortName="all", **CHECKED), *provisioned())
    extended = with_queues(configuration, [AddedTeam("new", like="a")])
    queues = extended.snapshot.cluster_queues
    assert replace(queues["new"], name="a") == queues["a"]
    assert extended.provisioned["new"] == {"h100"}
    assert extended.assumed_queues == {"new": "a"}
    placement = place([job("one", 0, 1, queue="new")], extended)
    assert [placed.queue for placed in placement.jobs] == ["new"]
