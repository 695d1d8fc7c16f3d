"""Simulations of candidates: one task per candidate and seed, on several cores."""

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, replace
from time import sleep
from types import TracebackType
from typing import Protocol, Self

from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.cores import usable_cores, worker_processes
from muster.forecast.costs.monthly import demand_hours, monthly_costs
from muster.forecast.costs.prices import Prices
from muster.forecast.demand.resampling import Resampling, jobs_of_future
from muster.forecast.limits import WaitLimit
from muster.forecast.placement import PlacedJob
from muster.forecast.recommend.goals import Measured, measured
from muster.forecast.simulation.simulator import Simulator

PARENT_CHECK_S = 0.5


@dataclass(frozen=True, slots=True)
class SearchInputs:
    """Jobs, assumptions and goals, which all candidates share."""

    jobs: Sequence[PlacedJob]
    assumptions: Assumptions
    goals: Sequence[WaitLimit]
    resampling: Resampling | None = None  # None: each future has all jobs at their recorded times
    prices: Prices | None = None  # of usage, which is the cost of a candidate; None: its quotas are


@dataclass(frozen=True, slots=True)
class Task:
    """One future of a candidate, over its first `jobs` jobs; over all of them if the trace has as many."""

    configuration: QueueConfiguration
    seed: int
    jobs: int


def measure(request: SearchInputs, task: Task) -> Measured:
    """Simulates one task. The seed alone decides the demand, so that candidates are compared on the same
    jobs."""
    jobs = jobs_of_future(request.jobs, request.resampling, task.seed)
    if task.jobs < len(request.jobs):  # a future that is drawn may have more jobs than the trace
        jobs = jobs[: task.jobs]
    outcome = Simulator(task.configuration, jobs, request.assumptions, task.seed).run()
    result = measured(outcome, request.goals)
    if request.prices is None:
        return result
    configuration, hours = task.configuration, demand_hours([outcome])
    prices = request.prices.bought(configuration.purchase_options)
    return replace(result, cost=monthly_costs(outcome, prices, configuration.reserved, hours).total)


class Executor(Protocol):
    """Runs tasks, and yields their positions and results in order of completion."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Measured]]:
        """Yields the results of the tasks, in the order of the tasks."""


class WorkerProcesses:
    """Runs tasks on the cores of this machine. The worker processes are shared by all calls of `run`."""

    def __init__(self, request: SearchInputs, processes: int | None = None) -> None:
        self._request = request
        workers = processes or usable_cores()
        self._pool = worker_processes(workers, _begin, request, os.getpid()) if workers > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Measured]]:
        """Runs all tasks. Yields the index and the result of each as it ends."""
        if self._pool is None:
            yield from ((number, measure(self._request, task)) for number, task in enumerate(tasks))
            return
        futures: dict[Future[Measured], int] = {
            self._pool.submit(_measure, task): number for number, task in enumerate(tasks)
        }
        for future in as_completed(futures):
            yield futures[future], future.result()


_request: list[SearchInputs] = []  # of a worker process


def _begin(request: SearchInputs, parent: int) -> None:
    _request[:] = [request]
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """Ends this worker when its parent has ended: a killed parent does not close pipes that its workers also
    hold."""
    while os.getppid() == parent:
        sleep(PARENT_CHECK_S)
    os._exit(1)


def _measure(task: Task) -> Measured:
    return measure(_request[0], task)
