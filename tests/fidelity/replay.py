"""The forecast of a case, as `muster forecast` makes it."""

from muster.admission import quantities
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.placement import place
from muster.forecast.queue_objects import from_manifests, parse_controller
from muster.forecast.results.outcome import End, SimulationOutcome
from muster.forecast.simulation.simulator import Simulator
from muster.forecast.traces.trace import TraceJob
from tests.fidelity.cases import Case
from tests.fidelity.history import History, Holding, Job

ENGINE = "forecast"
AT_ONCE = Assumptions(start_up_s=0, termination_s=0, cleanup_s=0)
"""Gangs start and end without delay."""


def configuration(case: Case) -> QueueConfiguration:
    return from_manifests(case.name, case.manifests, parse_controller(case.name, case.controller))


def forecast(case: Case, assumptions: Assumptions) -> History:
    trace = [
        TraceJob(
            job.name,
            round(1000 * job.submit_s),
            round(1000 * job.run_s),
            job.workers,
            {name: quantities.parse(name, quantity) for name, quantity in job.requests.items()},
            queue=job.queue,
            priority_class=job.priority_class,
        )
        for job in case.jobs
    ]
    queues = configuration(case)
    placement = place(trace, queues)
    assert not placement.left_out
    outcome = Simulator(queues, placement.jobs, assumptions).run()
    return history(outcome, case.jobs)


def history(outcome: SimulationOutcome, jobs: tuple[Job, ...]) -> History:
    rows = outcome.attempts
    holdings = tuple(
        Holding(
            outcome.jobs[job].name,
            reserved / 1000,
            started / 1000 if started >= 0 else None,
            ended / 1000,
            end == End.PREEMPTED,
        )
        for job, reserved, started, ended, end in zip(
            rows.job, rows.reserved_ms, rows.started_ms, rows.ended_ms, rows.end, strict=True
        )
    )
    return History(ENGINE, jobs, holdings)
