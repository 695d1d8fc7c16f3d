"""A history has waits, order and preemptions of its jobs."""

from tests.unit.fidelity.builders import held, history, job

ONE, TWO = job("one", 5), job("two", 0)


def test_jobs_are_in_the_order_of_their_first_admissions() -> None:
    jobs = history([ONE, TWO], held("two", 1, 2, preempted=True), held("one", 3, 4), held("two", 5, 6))
    assert jobs.order() == ["two", "one"]


def test_jobs_of_one_decision_are_in_the_order_of_their_submissions() -> None:
    holdings = held("one", 6.0, 8), held("two", 6.4, 9)
    assert history([ONE, TWO], *holdings).order() == ["one", "two"]
    assert history([ONE, TWO], *holdings, together_s=0.5).order() == ["two", "one"]


def test_a_job_waits_until_its_gang_runs_and_not_until_it_has_quota() -> None:
    jobs = history([ONE, TWO], held("one", 6, 7, preempted=True), held("one", 9, 20))
    assert jobs.waits_s() == {"one": 4, "two": None}


def test_preemptions_and_the_makespan_are_counted_over_all_holdings() -> None:
    jobs = history([ONE, TWO], held("two", 1, 2, preempted=True), held("two", 5, 30), held("one", 6, 20))
    assert (jobs.preemptions, jobs.makespan_s) == (1, 30)
