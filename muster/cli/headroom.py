"""The option `--headroom`: the growth of demand at which limits are first exceeded."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

from muster.cli import inputs
from muster.cli.configurations import SimulatedConfiguration
from muster.cli.demand import check_queue, job_queues, with_resampling
from muster.cli.inputs import ForecastOptions
from muster.cli.verb import InputError
from muster.forecast import futures
from muster.forecast.demand.demand import ALL, Demand, JobQueues, demanded
from muster.forecast.demand.headroom import EVALUATIONS_MAX, headroom
from muster.forecast.limits import WaitLimit
from muster.forecast.report.headroom import QueueHeadroom
from muster.forecast.report.limits import limit_results
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class GrowingDemand:
    """A forecast whose demand can be scaled; `outcomes` have the present demand."""

    opts: ForecastOptions
    side: SimulatedConfiguration
    trace: Trace
    outcomes: Sequence[SimulationOutcome]
    resample: bool

    def scaled(self, queues: JobQueues, queue: str, factor: float) -> Sequence[SimulationOutcome]:
        """Simulates the futures in which the demand of a queue, or of all, is scaled. `queues` has the
        queues of each job of the trace."""
        if factor == 1:
            return self.outcomes
        trace = demanded(self.trace, queues, Demand({queue: factor}))
        scenario = with_resampling(inputs.scenario(self.opts, self.side, trace), trace, self.resample)
        return futures.run(scenario.inputs, range(self.opts.seeds))


def check_headroom(queues: Sequence[str], side: SimulatedConfiguration, limits: Sequence[WaitLimit]) -> None:
    """Raises: InputError for an unknown queue, or without limits."""
    if queues and not limits:
        raise InputError(
            "--headroom needs a limit: give --limit, or muster:forecast.limits in the stack file"
        )
    for queue in queues:
        check_queue("--headroom", queue, {*side.configuration.snapshot.cluster_queues, ALL})


def headrooms(
    queues: Sequence[str], demand: GrowingDemand, limits: Sequence[WaitLimit]
) -> list[QueueHeadroom]:
    """Returns the headroom of each limit for each queue whose demand grows."""
    if not queues:
        return []
    rows: list[QueueHeadroom] = []
    evaluations_max, evaluations = EVALUATIONS_MAX * len(limits) * len(queues), count(1)
    of_trace = job_queues(demand.opts, [demand.side], demand.trace)
    with inputs.progress("headroom") as progress:

        def measure(queue: str, factor: float) -> Sequence[float]:
            progress(next(evaluations) / evaluations_max)
            return _means(demand.scaled(of_trace, queue, factor), limits)

        for queue in queues:
            every = headroom(limits, partial(measure, queue))
            rows += (QueueHeadroom(queue, *pair) for pair in zip(limits, every, strict=True))
    return rows


def _means(outcomes: Sequence[SimulationOutcome], limits: Sequence[WaitLimit]) -> list[float]:
    """Returns the value of each limit, as the mean over the futures."""
    return [result.mean for result in limit_results(limits, outcomes)]
