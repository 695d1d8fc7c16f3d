"""Assumptions of a forecast that its trace records: start-up and provisioning delays."""

from collections.abc import Iterable, Mapping, Sequence
from math import log
from statistics import fmean, median, pstdev

from muster.forecast.traces.trace import TraceJob

DELAYS_MIN = 10
"""Number of recorded delays from which on they replace an assumption."""

SECOND_MS = 1000


def trace_assumptions(jobs: Iterable[TraceJob]) -> Mapping[str, float]:
    """Returns the assumptions that enough jobs of a trace record, as a controller's journal does."""
    start_ups, provisionings = [], []
    for job in jobs:
        if job.start_up_ms is not None:
            start_ups.append(job.start_up_ms / SECOND_MS)
        if job.provisioning_ms:
            provisionings.append(job.provisioning_ms / SECOND_MS)
    values: dict[str, float] = {}
    if len(start_ups) >= DELAYS_MIN:
        values["start_up_s"] = round(fmean(start_ups), 1)  # a sum of waits depends on the mean
    if len(provisionings) >= DELAYS_MIN:
        values["provisioning_median_s"] = round(median(provisionings), 1)
        values["provisioning_spread"] = round(_spread(provisionings), 2)
    return values


def _spread(delays_s: Sequence[float]) -> float:
    return pstdev(log(delay) for delay in delays_s)
