"""The lessons of past jobs, and of past estimates."""

from collections.abc import Iterable, Sequence

from muster.forecast.estimate_outcome import EstimateOutcome
from muster.forecast.learning.arrivals import Arrivals
from muster.forecast.learning.calibration import Calibration
from muster.forecast.learning.cancellations import Cancellations
from muster.forecast.learning.delays import learned_delays
from muster.forecast.learning.past_job import PastJob
from muster.forecast.learning.run_times import RunTimes, latest_last


class Learned:
    """The lessons of past jobs. The submissions of `past` are on the clock of the estimate."""

    def __init__(self, past: Sequence[PastJob] = (), estimates: Iterable[EstimateOutcome] = ()) -> None:
        self.run_times = RunTimes(latest_last(past))
        self.delays = learned_delays(past)
        self.cancellations = Cancellations(past)
        self.arrivals = Arrivals(past)
        self.calibration = Calibration(estimates)
