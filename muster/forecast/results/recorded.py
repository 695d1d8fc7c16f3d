"""Waits that a trace recorded, beside those of its forecast."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from muster.forecast.results.outcome import Outcome
from muster.forecast.results.waits import Group, grouped, in_order, waits_by_group


@dataclass(frozen=True, slots=True)
class RecordedWaits:
    """Jobs of one group whose wait the trace tells; the forecast's are means over its futures."""

    group: Group
    jobs: int
    recorded_mean_s: float
    forecast_mean_s: float
    recorded_p90_s: float
    forecast_p90_s: float


def recorded_waits(outcomes: Sequence[Outcome], waited_ms: Mapping[int, int]) -> list[RecordedWaits]:
    """Returns the groups in order; `waited_ms` has waits by the number of a job. Empty without any."""
    jobs = [job for job in outcomes[0].jobs if job.number in waited_ms]
    recorded = grouped(jobs, [waited_ms[job.number] for job in jobs])
    forecasts = [waits_by_group(outcome, waited_ms) for outcome in outcomes]
    return [
        RecordedWaits(
            group,
            recorded[group].count,
            recorded[group].mean_s,
            fmean(one[group].mean_s for one in forecasts),
            recorded[group].p90_s,
            fmean(one[group].p90_s for one in forecasts),
        )
        for group in in_order(recorded)
    ]
