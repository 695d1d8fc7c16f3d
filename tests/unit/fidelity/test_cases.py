"""The cases: the same each time, and fit for an API server whose times are whole seconds."""

from dataclasses import replace
from random import Random
from statistics import mean
from typing import Any

import pytest

from muster import admission as core
from muster.forecast.simulation.simulator import Simulator
from tests.fidelity.__main__ import JOBS
from tests.fidelity.cases import STEP_S, Case, cases
from tests.fidelity.replay import AT_ONCE, forecast

NAMES = [case.name for case in cases(0)]


@pytest.mark.parametrize("name", NAMES)
def test_no_two_jobs_of_a_case_are_created_in_the_same_second_of_a_compressed_run(name: str) -> None:
    (matches,) = (case for case in cases(50) if case.name == name)
    times = [job.submit_s for job in matches.jobs]
    assert times == sorted(set(times))
    assert all(time % STEP_S == 0 for time in times)


def test_a_case_has_the_same_jobs_each_time() -> None:
    assert [case.jobs for case in cases(50)] == [case.jobs for case in cases(50)]


def test_cases_share_no_queue() -> None:
    queues = [queue for case in cases(50) for queue in {job.queue for job in case.jobs}]
    assert len(queues) == len(set(queues))


@pytest.mark.parametrize("name", NAMES)
def test_mean_waits_of_a_case_hardly_change_if_each_job_runs_a_little_longer(name: str) -> None:
    case = case_named(name)
    random = Random(1)
    longer = replace(case, jobs=tuple(replace(j, run_s=j.run_s + random.uniform(0, 9)) for j in case.jobs))
    assert mean_waits_s(longer) == pytest.approx(mean_waits_s(case), rel=0.02)


@pytest.mark.parametrize("name", NAMES)
def test_mean_waits_of_a_case_hardly_change_if_ties_of_uids_fall_otherwise(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_named(name)
    before, queued = mean_waits_s(case), Simulator._queued

    def with_reversed_uid(*arguments: Any) -> core.Workload:
        workload = queued(*arguments)
        return replace(workload, uid=f"{10**10 - int(workload.uid)}")

    monkeypatch.setattr(Simulator, "_queued", with_reversed_uid)
    assert mean_waits_s(case) == pytest.approx(before, rel=0.02)


def case_named(name: str) -> Case:
    (matches,) = (case for case in cases(JOBS) if case.name == name)
    return matches


def mean_waits_s(case: Case) -> dict[str, float]:
    """Returns the forecast's mean waits, by class."""
    waits_s = forecast(case, AT_ONCE).waits_s()
    classes = {job.priority_class for job in case.jobs}
    return {c: mean(waits_s[j.name] or 0.0 for j in case.jobs if j.priority_class == c) for c in classes}
