"""The time at which a budget is used up in a simulated future."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster import admission as core
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.placement import PODS, PlacedJob
from muster.forecast.simulation.resumed import Initial, InitialWorkload, ResumedSimulator
from muster.forecast.simulation.run_outs import BudgetKey, BudgetWatch
from tests.unit.admission.strategies import PROPERTY
from tests.unit.forecast.builders import AT_ONCE, GPU, configured, queue, with_budget

NOW_S = 1_000
DAY_S = 86_400
UNTIL_S = 5 * DAY_S


def run(gpus: int, run_s: float, at_s: float = NOW_S) -> PlacedJob:
    """A job that is submitted at this time; it holds quota if that is now."""
    return PlacedJob(
        name=f"team/{gpus}-{at_s}",
        submit_ms=round(1000 * at_s),
        queue="a",
        priority_class="",
        user="",
        pods=1,
        accelerators=gpus,
        run_ms=round(1000 * run_s),
        priority=0,
        pod_sets=(core.PodSet(PODS, 1, {GPU: gpus}),),
    )


def held(number: int, job: PlacedJob) -> InitialWorkload:
    assigned = core.PodSetAssignment(PODS, 1, {GPU: "h100"}, {GPU: job.accelerators})
    workload = core.Workload(
        key=f"team/{number}",
        uid=str(number),
        cluster_queue="a",
        priority=0,
        queued_at_ms=job.submit_ms,
        pod_sets=job.pod_sets,
        admission=core.Admission("a", (assigned,)),
        reserved_at_ms=job.submit_ms,
    )
    return InitialWorkload(workload, job.submit_ms)


def simulator(configuration: QueueConfiguration, jobs: list[PlacedJob]) -> ResumedSimulator:
    jobs = [replace(job, number=number) for number, job in enumerate(jobs)]
    initial = [held(number, job) for number, job in enumerate(jobs) if job.submit_ms <= 1000 * NOW_S]
    return ResumedSimulator(configuration, jobs, AT_ONCE, 0, Initial(1000 * NOW_S, initial))


@dataclass(frozen=True)
class Case:
    hours: int
    jobs: list[PlacedJob]
    used_up_s: float | None
    budget: dict[str, Any]


def case(hours: int, *jobs: PlacedJob, at_s: float | None, **budget: Any) -> Case:
    return Case(hours, list(jobs), at_s, {"enforcement": "warn"} | budget)


CASES = {
    "at the present rate": case(8, run(8, DAY_S), at_s=NOW_S + 3600),
    "the gangs end before": case(8, run(8, 3599), at_s=None),
    "a gang ends and the other uses the remainder": case(
        8, run(4, 3600), run(1, DAY_S), at_s=NOW_S + 3600 + 3 * 3600
    ),
    "a later submission uses it up": case(8, run(8, 3600 * 3, at_s=20_000), at_s=20_000 + 3600),
    "it is used in two runs": case(8, run(8, 1800), run(8, DAY_S, at_s=20_000), at_s=20_000 + 1800),
    "a gang waits for another": case(16, run(8, 3600), run(8, DAY_S, at_s=NOW_S + 1), at_s=NOW_S + 7200),
    "the period ends before": case(24 * 8, run(8, 3 * DAY_S), at_s=None),
    "at its last moment": case(24, run(1, 3 * DAY_S, at_s=0), at_s=None),
    "a month": case(24 * 8, run(8, 3 * DAY_S), at_s=NOW_S + DAY_S, period="month"),
    "a rolling period": case(24, run(1, 3 * DAY_S), at_s=NOW_S + DAY_S, period="rolling", days=2),
    "usage leaves a rolling period": case(
        24, run(1, 12 * 3600), run(1, 12 * 3600, at_s=3 * DAY_S), at_s=None, period="rolling", days=1
    ),
    "nothing uses it": case(8, at_s=None),
    "a hard budget is used up by gangs that run": case(
        8, run(8, 2 * 3600), run(8, 3600, at_s=NOW_S + 1), at_s=NOW_S + 3600, enforcement="hard"
    ),
    "it is used up now": case(0, at_s=NOW_S),
}


@pytest.mark.parametrize("of", CASES.values(), ids=CASES)
def test_budget_is_used_up_in_a_future(of: Case) -> None:
    configuration = configured(with_budget(queue("a", 8), of.hours, **of.budget))
    times = simulator(configuration, of.jobs).budgets_used_up_ms(1000 * UNTIL_S, lambda: True)
    assert times is not None
    assert list(times.values()) == [None if of.used_up_s is None else 1000 * of.used_up_s]


def test_simulation_that_takes_too_long_has_no_result() -> None:
    configuration = configured(with_budget(queue("a", 8), 100))
    assert simulator(configuration, [run(8, 60)]).budgets_used_up_ms(1000 * UNTIL_S, lambda: False) is None


RUNS = st.lists(
    st.builds(
        run,
        st.integers(1, 8),
        st.sampled_from((600, 3600, 8 * 3600, DAY_S)),
        st.sampled_from((NOW_S, NOW_S + 7200, 50_000, DAY_S, DAY_S + 5, 2 * DAY_S)),
    ),
    max_size=8,
)


class Thorough(BudgetWatch):
    """Computes the usage at every moment."""

    last_ms = 1000 * NOW_S

    def passes(self, now_ms: int) -> None:
        self._open = {key: (self.last_ms, end_ms) for key, (_, end_ms) in self._open.items()}
        super().passes(now_ms)
        self.last_ms = now_ms


@PROPERTY
@given(RUNS, st.integers(0, 60), st.sampled_from(({}, {"period": "month"}, {"enforcement": "warn"})))
def test_usage_that_is_not_computed_uses_up_no_budget(
    jobs: list[PlacedJob], hours: int, fields: dict[str, Any]
) -> None:
    running = [job for job in jobs if job.submit_ms == 1000 * NOW_S]
    while sum(job.accelerators for job in running) > 8:
        jobs.remove(running.pop())
    jobs.sort(key=lambda job: job.submit_ms)
    configuration = configured(with_budget(queue("a", 8), hours, **fields))
    times: list[dict[BudgetKey, int | None] | None] = []
    for watch in (BudgetWatch, Thorough):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("muster.forecast.simulation.resumed.BudgetWatch", watch)
            of = simulator(configuration, jobs)
            times.append(of.budgets_used_up_ms(1000 * UNTIL_S, lambda: True))
    assert times[0] == times[1]
