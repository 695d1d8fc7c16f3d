"""Runs the futures of a forecast: one simulation per seed, on several cores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.cores import usable_cores, worker_processes
from muster.forecast.demand.resampling import Resampling, jobs_of_future
from muster.forecast.placement import PlacedJob
from muster.forecast.results.budgets import BudgetOutcome
from muster.forecast.results.growth import Growth
from muster.forecast.results.outcome import Attempts, SimulationOutcome
from muster.forecast.simulation.simulator import Simulator, capacities

SEEDS = 20
"""The default number of futures: in our measurements, bootstrap intervals from 5 and 10 seeds missed the mean
of 20."""


@dataclass(frozen=True, slots=True)
class SimulationInputs:
    """The jobs to simulate, placed in the queues of a configuration."""

    configuration: QueueConfiguration
    jobs: Sequence[PlacedJob]
    assumptions: Assumptions
    resampling: Resampling | None = None  # None: each future has all jobs at their recorded times

    def jobs_of(self, seed: int) -> Sequence[PlacedJob]:
        """Returns the jobs of one future."""
        return jobs_of_future(self.jobs, self.resampling, seed)


def is_random(scenario: SimulationInputs) -> bool:
    """Returns whether the result depends on the seed: demand is resampled, a run time is drawn, or nodes may
    be late, missing or fail."""
    assumed = scenario.assumptions
    provisions = any(scenario.configuration.provisioned.values()) and (
        assumed.provisioning_spread > 0 or assumed.stock_out_probability > 0
    )
    return (
        provisions
        or scenario.resampling is not None
        or assumed.failures_per_node_hour > 0
        or (bool(scenario.configuration.spot) and assumed.spot_interruptions_per_node_hour > 0)
        or any(job.has_drawn_run_time for job in scenario.jobs)
    )


def run(
    scenario: SimulationInputs,
    seeds: Sequence[int],
    progress: Callable[[float], None] | None = None,
    processes: int | None = None,
) -> list[SimulationOutcome]:
    """Returns one outcome per seed, in order. A deterministic scenario is simulated once, with the first
    seed.

    `progress` is called with the completed share (0 to 1). Raises: ValueError for jobs that cannot be
    simulated."""
    seeds = seeds if is_random(scenario) else seeds[:1]
    workers = min(processes or usable_cores(), len(seeds))
    if workers <= 1:
        return [_simulate(scenario, seed, _part(progress, n, len(seeds))) for n, seed in enumerate(seeds)]
    outcomes = []
    with worker_processes(workers, _share, scenario) as pool:
        for done, (seed, simulated) in enumerate(zip(seeds, pool.map(_simulated, seeds), strict=True), 1):
            outcomes.append(_outcome(scenario, *simulated, seed))
            if progress is not None:
                progress(done / len(seeds))
    return outcomes


_scenario: list[SimulationInputs] = []  # of a worker process


def _share(scenario: SimulationInputs) -> None:
    _scenario[:] = [scenario]


def _simulated(seed: int) -> tuple[Attempts, Growth, Sequence[BudgetOutcome], int]:
    outcome = _simulate(_scenario[0], seed, None)
    return outcome.attempts, outcome.growth, outcome.budgets, outcome.end_ms


def _simulate(
    scenario: SimulationInputs, seed: int, progress: Callable[[float], None] | None
) -> SimulationOutcome:
    jobs = scenario.jobs_of(seed)
    return Simulator(scenario.configuration, jobs, scenario.assumptions, seed).run(progress)


def _outcome(
    scenario: SimulationInputs,
    attempts: Attempts,
    growth: Growth,
    budgets: Sequence[BudgetOutcome],
    end_ms: int,
    seed: int,
) -> SimulationOutcome:
    queues, flavors = (
        capacities(scenario.configuration),
        tuple(sorted(scenario.configuration.snapshot.flavors)),
    )
    jobs = scenario.jobs_of(seed)
    return SimulationOutcome(jobs, attempts, queues, end_ms, seed, flavors, growth, budgets)


def _part(
    progress: Callable[[float], None] | None, number: int, count: int
) -> Callable[[float], None] | None:
    return None if progress is None else lambda share: progress((number + share) / count)
