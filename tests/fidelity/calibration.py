"""The assumptions that describe an engine's surroundings, measured once, in a separate case.

Gangs of all sizes each fill their own queue, one after the other; at last one is preempted.
"""

from dataclasses import replace
from statistics import mean

from muster.forecast.assumptions import Assumptions
from tests.fidelity.cases import GANGS, PROVISIONED_S, STEP_S, Case, Team, case
from tests.fidelity.history import History, Job

IN_A_ROW = 5
RUN_S, LONG_S, PAUSE_S = 2.0 * STEP_S, 20.0 * STEP_S, 4.0 * STEP_S
QUEUES = [f"calibration-{number}" for number in range(len(GANGS))]


def calibration(*, check: bool = False) -> Case:
    """Returns the case; `check`: its nodes must be provided first."""
    teams = [
        Team(queue, gang, spec={"cohortName": queue, "preemption": {"withinClusterQueue": "LowerPriority"}})
        for queue, gang in zip(QUEUES, GANGS, strict=True)
    ]
    jobs = [job for queue, gang in zip(QUEUES, GANGS, strict=True) for job in _jobs(queue, gang)]
    ordered = tuple(sorted(jobs, key=lambda job: job.submit_s))
    return replace(case("calibration", *teams, count=0, check=check), jobs=ordered)


def _jobs(queue: str, gang: int) -> list[Job]:
    jobs = [Job(f"{queue}-{n}", STEP_S * (n + 1.0), RUN_S, gang, queue) for n in range(IN_A_ROW)]
    at_s = STEP_S + IN_A_ROW * (RUN_S + PROVISIONED_S + STEP_S)
    jobs.append(Job(f"{queue}-victim", at_s, LONG_S, gang, queue))
    return [*jobs, Job(f"{queue}-prod", at_s + PAUSE_S, RUN_S, gang, queue, "prod-priority")]


def assumptions(plain: History, provisioned: History | None = None, requeue_s: float = 0.0) -> Assumptions:
    """Returns what makes a forecast of these cases right on average, for an engine that takes `requeue_s`
    until it tries again what was parked."""
    start_up_s = _start_up_s(plain)
    return Assumptions(
        start_up_s=start_up_s,
        termination_s=_preempting_s(plain) - start_up_s,
        cleanup_s=max(0.0, _next_start_s(plain) - start_up_s - requeue_s),
        requeue_s=requeue_s,
        provisioning_median_s=_start_up_s(provisioned) - start_up_s if provisioned else 0.0,
        provisioning_spread=0,
    )


def _start_up_s(history: History) -> float:
    """Returns the wait of a job whose queue is free."""
    waits_s = history.waits_s()
    return mean(waits_s[f"{queue}-0"] or 0.0 for queue in QUEUES)


def _next_start_s(history: History) -> float:
    """Returns the time from the end of a job's work until the next of its queue runs."""
    started = _started_s(history)
    return mean(
        started[f"{queue}-{n + 1}"] - started[f"{queue}-{n}"] - RUN_S
        for queue in QUEUES
        for n in range(IN_A_ROW - 1)
    )


def _preempting_s(history: History) -> float:
    """Returns the wait of a job that must preempt another."""
    waits_s = history.waits_s()
    return mean(waits_s[f"{queue}-prod"] or 0.0 for queue in QUEUES)


def _started_s(history: History) -> dict[str, float]:
    waits_s = history.waits_s()
    return {job.name: job.submit_s + (waits_s[job.name] or 0.0) for job in history.jobs}
