"""Properties of forecasts, over random configurations and traces."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.forecast.results.comparison import compare
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.usage import usage
from muster.forecast.results.waits import waits_ms
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
from tests.unit.forecast.drawn_forecasts import JOBS, Drawn, jobs_of, two_queues

POLICIES = st.sampled_from(["Never", "LowerPriority", "Any"])


@given(JOBS, POLICIES, st.sampled_from(["Never", "LowerPriority"]))
def test_every_job_that_fits_runs_to_its_end(drawn: Drawn, reclaim: str, within: str) -> None:
    outcome = simulated(two_queues(4, 4, reclaim, within), *jobs_of(drawn))
    finished = [line.split()[0] for line in attempts(outcome) if line.endswith("FINISHED")]
    assert sorted(finished) == sorted(job.name for job in outcome.jobs)


@given(JOBS, POLICIES)
def test_accelerator_hours_are_conserved(drawn: Drawn, reclaim: str) -> None:
    """Gangs hold as much as their jobs need, plus the work that they lose."""
    jobs = jobs_of(drawn)
    used = usage(simulated(two_queues(4, 4, reclaim), *jobs))
    needed = sum((job.run_ms or 0) * job.requests["nvidia.com/gpu"] for job in jobs) / 3_600_000
    held = sum(flavor.held for flavor in used.flavors.values())
    assert held == pytest.approx(needed + used.lost_hours)
    assert sum(used.hours_by_team.values()) == pytest.approx(held)


@given(JOBS, POLICIES)
def test_quota_is_never_exceeded(drawn: Drawn, reclaim: str) -> None:
    outcome = simulated(two_queues(4, 6, reclaim), *jobs_of(drawn))
    rows = outcome.attempts
    changes: list[tuple[int, int]] = []
    for index, begin, end in zip(rows.job, rows.reserved_ms, rows.ended_ms, strict=True):
        gpus = outcome.jobs[index].accelerators
        changes += [(begin, gpus), (end, -gpus)]
    held = 0
    for _, gpus in sorted(changes):  # releases before reservations at one moment
        held += gpus
        assert held <= 10


@given(JOBS)
def test_enough_quota_leaves_no_waiting(drawn: Drawn) -> None:
    assert set(waits_ms(simulated(two_queues(1000, 1000), *jobs_of(drawn)))) == {0}


@given(JOBS, POLICIES, st.integers(0, 3))
def test_an_unchanged_configuration_makes_no_difference(drawn: Drawn, reclaim: str, seed: int) -> None:
    checks = replace(AT_ONCE, provisioning_median_s=20, failures_per_node_hour=1)
    configuration = configured(queue("a", 8, **CHECKED), queue("b", 8), *provisioned())

    def outcomes() -> list[SimulationOutcome]:
        return [
            simulated(configuration, *jobs_of(drawn), assumptions=checks, seed=item)
            for item in (seed, seed + 1)
        ]

    comparison = compare(outcomes(), outcomes())
    assert {difference.change_s for difference in comparison.differences} == {0}
    assert comparison.sufferers == []


@given(JOBS, JOBS, st.integers(0, 3))
def test_jobs_of_other_queues_leave_all_draws_alone(drawn: Drawn, added: Drawn, seed: int) -> None:
    """Provisioning delays, failures and run times depend on the name of a job, not on its row."""
    checks = replace(AT_ONCE, provisioning_median_s=20, failures_per_node_hour=5, stock_out_probability=0.1)
    configuration = configured(queue("a", 8, **CHECKED), queue("b", 8, **CHECKED), *provisioned())
    mine = [
        job(f"mine-{n}", at, run if n % 2 else None, gpus, user="ann")
        for n, (at, run, gpus, _, _) in enumerate([(0, 10, 1, "a", "low"), (0, 20, 1, "a", "low"), *drawn])
    ]
    others = [
        job(f"other-{n}", at, run, gpus, queue="b", user="bob")
        for n, (at, run, gpus, _, _) in enumerate(added)
    ]
    alone, together = (
        simulated(configuration, *sorted(jobs, key=lambda row: row.submit_ms), assumptions=checks, seed=seed)
        for jobs in (mine, [*others, *mine])
    )
    assert attempts(alone) == [line for line in attempts(together) if line.startswith("mine-")]


def test_jobs_of_the_same_name_have_different_draws() -> None:
    checks = replace(AT_ONCE, provisioning_median_s=60)
    configuration = configured(queue("a", 8, **CHECKED), *provisioned())
    waits = waits_ms(
        simulated(configuration, job("nightly", 0, 10), job("nightly", 0, 10), assumptions=checks)
    )
    assert len(set(waits)) == 2


def test_more_quota_can_double_the_mean_wait() -> None:
    """An anomaly such as Graham's (1969), found by random search over three to five jobs: with one more GPU,
    the wide job starts immediately, and the short one, which used to run before it, waits for its end."""
    jobs = [job("small", 1, 9, 1), job("wide", 1, 20, 4), job("short", 3, 2, 3)]
    fewer = simulated(configured(queue("a", 4)), *jobs)
    more = simulated(configured(queue("a", 5)), *jobs)
    assert waits_ms(fewer) == [0, 9_000, 0]
    assert waits_ms(more) == [0, 0, 18_000]
