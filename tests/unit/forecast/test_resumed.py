"""Simulations that begin in the state of a running cluster."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given

from muster import admission as core
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.placement import PODS, PlacedJob
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.simulation.resumed import Initial, InitialWorkload, ResumedSimulator
from tests.unit.forecast.builders import (
    AT_ONCE,
    CHECKED,
    GPU,
    PREEMPTS,
    configured,
    job,
    placed,
    priority,
    provisioned,
    queue,
    simulated,
)
from tests.unit.forecast.drawn_forecasts import JOBS, Drawn, jobs_of, two_queues

NOW_S = 1_000
HORIZON_S = 100_000


def there(
    name: str,
    gpus: int,
    run_s: float = 100,
    reserved_s: float | None = None,
    started_s: float | None = None,
    *,
    ended: bool = False,
    evicted: bool = False,
    queued_s: float = 0,
    priority: int = 0,
    requeue_s: float | None = None,
) -> tuple[PlacedJob, InitialWorkload]:
    """A workload of queue `a` that holds quota since `reserved_s` and runs since `started_s`."""
    pod_sets = (core.PodSet(PODS, 1, {GPU: gpus}),)
    assigned = core.PodSetAssignment(PODS, 1, {GPU: "h100"}, {GPU: gpus})
    workload = core.Workload(
        key=f"team/{name}",
        uid=name,
        cluster_queue="a",
        priority=priority,
        queued_at_ms=round(1000 * queued_s),
        pod_sets=pod_sets,
        admission=None if reserved_s is None else core.Admission("a", (assigned,)),
        reserved_at_ms=0 if reserved_s is None else round(1000 * reserved_s),
        evicted=ended or evicted,
        requeue_at_ms=None if requeue_s is None else round(1000 * requeue_s),
    )
    placed_job = PlacedJob(
        name=name,
        submit_ms=workload.queued_at_ms,
        queue="a",
        priority_class="",
        user="",
        pods=1,
        accelerators=gpus,
        run_ms=round(1000 * run_s),
        priority=priority,
        pod_sets=pod_sets,
    )
    return placed_job, InitialWorkload(
        workload, None if started_s is None else round(1000 * started_s), ended
    )


TARGET = there("target", 8, queued_s=900)


@dataclass(frozen=True)
class Case:
    workloads: list[tuple[PlacedJob, InitialWorkload]]
    start_s: float | None
    configuration: QueueConfiguration = field(default_factory=lambda: configured(queue("a", 8)))
    assumptions: Assumptions = AT_ONCE


PROVISIONED = configured(queue("a", 8, **CHECKED), *provisioned())
MINUTE = replace(AT_ONCE, provisioning_median_s=60, provisioning_spread=0)

CASES: dict[str, Case] = {
    "nothing runs": Case([TARGET], NOW_S),
    "it waits for the remainder of a run": Case([there("other", 8, 300, 850, 900), TARGET], 1_200),
    "it waits for the quota of two": Case(
        [there("one", 4, 300, 850, 900), there("two", 4, 500, 850, 900), TARGET], 1_400
    ),
    "an overdue run ends now": Case([there("other", 8, 50, 850, 900), TARGET], NOW_S),
    "an earlier one goes first": Case(
        [there("other", 8, 200, 850, 900), there("before", 8, 1_000, queued_s=800), TARGET], 2_100
    ),
    "it preempts": Case(
        [there("other", 8, 300, 850, 900), there("target", 8, priority=5)],
        NOW_S + 20,
        configured(queue("a", 8, **PREEMPTS)),
        replace(AT_ONCE, termination_s=20),
    ),
    "an evicted gang leaves, and runs again afterwards": Case(
        [there("other", 8, 300, 850, 900, evicted=True), TARGET],
        NOW_S + 10 + 300,
        assumptions=replace(AT_ONCE, termination_s=10),
    ),
    "a finished gang does not return": Case(
        [there("other", 8, 300, 850, 900, ended=True), TARGET],
        NOW_S + 7,
        assumptions=replace(AT_ONCE, cleanup_s=7),
    ),
    "quota without nodes: its provisioning continues from its reservation": Case(
        [there("target", 8, 100, 970)], 1_030, PROVISIONED, MINUTE
    ),
    "an overdue provisioning is done now": Case([there("target", 8, 100, 500)], NOW_S, PROVISIONED, MINUTE),
    "nodes are provisioned for it": Case([TARGET], NOW_S + 60, PROVISIONED, MINUTE),
    "its back-off ends": Case([there("target", 8, requeue_s=1_500)], 1_500),
    "its back-off does not end": Case([there("target", 8, requeue_s=core.NEVER_MS / 1000)], None),
    "it is too large": Case([there("target", 9)], None),
    "a run beyond the horizon": Case([there("other", 8, 10 * HORIZON_S, 850, 900), TARGET], None),
}


@pytest.mark.parametrize("name", CASES)
def test_start_from_a_state(name: str) -> None:
    case = CASES[name]
    jobs, workloads = zip(*case.workloads, strict=True)
    (target,) = (n for n, job in enumerate(jobs) if job.name == "target")
    initial = Initial(1000 * NOW_S, workloads)
    simulator = ResumedSimulator(case.configuration, jobs, case.assumptions, 0, initial)
    start_times_ms = simulator.starts_ms([target], 1000 * (NOW_S + HORIZON_S))
    assert start_times_ms == ({} if case.start_s is None else {target: 1000 * case.start_s})


def test_later_arrivals_go_before_it_if_their_priority_is_higher() -> None:
    configuration = configured(queue("a", 8), priority("high", 9))
    (other, running), (target, pending) = there("other", 8, 300, 850, 900), TARGET
    later = placed(configuration, [job("later", 1_100, 50, gpus=8, priority_class="high")])
    initial = Initial(1000 * NOW_S, [running, pending])
    simulator = ResumedSimulator(configuration, [other, target, *later], AT_ONCE, 0, initial)
    assert simulator.starts_ms([1], 1000 * HORIZON_S) == {1: 1_250_000}


def test_drained_gangs_leave() -> None:
    stopped = configured(queue("a", 8, stopPolicy="HoldAndDrain"), queue("b", 8, cohortName="x"))
    other, running = there("other", 8, 300, 850, 900)
    simulator = ResumedSimulator(stopped, [other], AT_ONCE, 0, Initial(1000 * NOW_S, [running]))
    assert simulator.run().attempts.ended_ms[0] == 1000 * NOW_S


@given(JOBS)
def test_a_simulation_that_is_resumed_halfway_goes_on_as_it_would_have(drawn: Drawn) -> None:
    """Without preemption, the state at a moment is what runs and what waits."""
    configuration = two_queues(4, 4)
    whole = simulated(configuration, *(placed_job_drawn for placed_job_drawn in jobs_of(drawn)))
    now_ms = (
        whole.jobs[len(whole.jobs) // 2].submit_ms + 500
    )  # when nothing happens, as all do at full seconds
    state = [_state_at(whole, n, now_ms) for n in range(len(whole.jobs))]
    jobs = [
        placed_job_drawn for placed_job_drawn, at in zip(whole.jobs, state, strict=True) if at is not None
    ]
    assert all(isinstance(placed_job_drawn, PlacedJob) for placed_job_drawn in jobs)
    workloads = [at for at in state if at is not None]
    starts_ms = dict(zip(whole.attempts.job, whole.attempts.started_ms, strict=True))
    later = [placed_job_drawn for placed_job_drawn in whole.jobs if placed_job_drawn.submit_ms > now_ms]
    expected = {
        index: starts_ms.get(whole.jobs.index(placed_job_drawn))
        for index, placed_job_drawn in enumerate(jobs)
    }
    for expectation in (*([index] for index in expected), list(expected)):
        initial = Initial(now_ms, workloads)
        simulator = ResumedSimulator(configuration, [*jobs, *later], AT_ONCE, 0, initial)  # type: ignore[list-item]
        start_times_ms = simulator.starts_ms(expectation, 10**9)
        assert [start_times_ms.get(index) for index in expectation] == [
            expected[index] for index in expectation
        ]


def _state_at(whole: SimulationOutcome, number: int, now_ms: int) -> InitialWorkload | None:
    """Returns a job at a moment: running, tried without success, or None if it has ended or not arrived."""
    first, rows = whole.jobs[number], whole.attempts
    assert isinstance(first, PlacedJob)
    if first.submit_ms > now_ms:
        return None
    row = rows.job.index(number) if number in rows.job else -1
    runs = row >= 0 and rows.reserved_ms[row] < now_ms
    if runs and rows.ended_ms[row] <= now_ms:
        return None
    (pod_set,) = first.pod_sets
    assigned = core.PodSetAssignment(PODS, 1, {GPU: "h100"}, pod_set.requests)
    workload = core.Workload(
        key=f"forecast/{number}",
        uid=f"{number:010}",
        cluster_queue=first.queue,
        priority=first.priority,
        queued_at_ms=first.submit_ms,
        pod_sets=first.pod_sets,
        admission=core.Admission(first.queue, (assigned,)) if runs else None,
        reserved_at_ms=rows.reserved_ms[row] if runs else 0,
        parked=not runs,
    )
    return InitialWorkload(workload, rows.started_ms[row] if runs else None)
