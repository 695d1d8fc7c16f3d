"""The option `--headroom`: the growth of demand at which limits are first exceeded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from muster.cli import inputs
from muster.cli.configurations import SimulatedConfiguration
from muster.cli.demand import check_queue, job_queues, with_resampling
from muster.cli.inputs import ForecastOptions
from muster.cli.verb import InputError
from muster.forecast import futures
from muster.forecast.demand.demand import ALL, Demand, demanded
from muster.forecast.demand.headroom import EVALUATIONS_MAX, headroom
from muster.forecast.limits import WaitLimit
from muster.forecast.recommend.goals import measured
from muster.forecast.report.headroom import QueueHeadroom
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

    def measured(self, queue: str, factor: float, limits: Sequence[WaitLimit]) -> Sequence[float]:
        """Returns the value of each limit, as the mean over the futures."""
        outcomes = self.outcomes
        if factor != 1:
            queues = job_queues(self.opts, [self.side], self.trace)
            trace = demanded(self.trace, queues, Demand({queue: factor}))
            scenario = with_resampling(inputs.scenario(self.opts, self.side, trace), trace, self.resample)
            outcomes = futures.run(scenario.inputs, range(self.opts.seeds))
        values = [measured(outcome, limits).values for outcome in outcomes]
        return [fmean(column) for column in zip(*values, strict=True)]


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
    effort = EVALUATIONS_MAX * len(limits) * len(queues)
    with inputs.progress("headroom") as progress:
        counted = _Counted(progress, effort)
        for queue in queues:

            def measure(factor: float, queue: str = queue) -> Sequence[float]:
                counted.advance()
                return demand.measured(queue, factor, limits)

            every = headroom(limits, measure)
            rows += (QueueHeadroom(queue, *pair) for pair in zip(limits, every, strict=True))
    return rows


class _Counted:
    """Reports the completed share of an upper bound of evaluations."""

    def __init__(self, progress: Callable[[float], None], effort: int) -> None:
        self._progress, self._effort, self._done = progress, effort, 0

    def advance(self) -> None:
        self._done += 1
        self._progress(self._done / self._effort)
