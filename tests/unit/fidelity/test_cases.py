"""The cases: the same each time, and fit for an API server whose times are whole seconds."""

import pytest

from tests.fidelity.cases import STEP_S, cases

NAMES = [case.name for case in cases(0)]


@pytest.mark.parametrize("name", NAMES)
def test_no_two_jobs_of_a_case_are_created_in_the_same_second_of_a_compressed_run(name: str) -> None:
    (found,) = (case for case in cases(50) if case.name == name)
    times = [job.submit_s for job in found.jobs]
    assert times == sorted(set(times))
    assert all(time % STEP_S == 0 for time in times)


def test_a_case_has_the_same_jobs_each_time() -> None:
    assert [case.jobs for case in cases(50)] == [case.jobs for case in cases(50)]


def test_cases_share_no_queue() -> None:
    queues = [queue for case in cases(50) for queue in {job.queue for job in case.jobs}]
    assert len(queues) == len(set(queues))
