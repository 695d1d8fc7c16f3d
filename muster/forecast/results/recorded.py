"""Waits recorded in a trace, compared with the forecast."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.waits import JobGroup, grouped, in_order, waits_by_group


@dataclass(frozen=True, slots=True)
class RecordedWaits:
    """Jobs of one group with a recorded wait. Forecast values are means over the futures."""

    group: JobGroup
    jobs: int
    recorded_mean_s: float
    forecast_mean_s: float
    recorded_p90_s: float
    forecast_p90_s: float


def recorded_waits(
    outcomes: Sequence[SimulationOutcome], waited_ms: Mapping[int, int]
) -> list[RecordedWaits]:
    """Returns the groups in order; `waited_ms` holds recorded waits by job number. Empty without recorded
    waits."""
    jobs = [job for job in outcomes[0].jobs if job.number in waited_ms]
    recorded = grouped(jobs, [waited_ms[job.number] for job in jobs])
    forecasts = [waits_by_group(outcome, waited_ms) for outcome in outcomes]
    return [
        RecordedWaits(
            group,
            recorded[group].count,
            recorded[group].mean_s,
            fmean(forecast[group].mean_s for forecast in forecasts),
            recorded[group].p90_s,
            fmean(forecast[group].p90_s for forecast in forecasts),
        )
        for group in in_order(recorded)
    ]
