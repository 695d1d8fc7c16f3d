"""Builders of what readers of traces are expected to return."""

from collections.abc import Callable, Iterable
from typing import Any

from muster.forecast.traces.trace import Trace, TraceJob

GPU = "nvidia.com/gpu"
GIB = 1024**3
QUANTITY = "a number with an optional suffix, such as 500m, 4, 1.5Gi or 2e3"

Reader = Callable[[Iterable[str]], Trace]


def job(name: str = "1", submit: float = 0, run: float | None = 60, **changes: Any) -> TraceJob:
    """Returns a job; times are in seconds."""
    defaults: dict[str, Any] = {"pods": 1, "requests": {GPU: 1}}
    run_ms = None if run is None else round(run * 1000)
    return TraceJob(name, round(submit * 1000), run_ms, **(defaults | changes))


def problems(trace: Trace) -> list[str]:
    """Returns each bad row as `line: problem`."""
    return [f"{bad.where.rpartition(':')[2]}: {bad.problem}" for bad in trace.bad]
