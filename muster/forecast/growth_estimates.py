"""Estimates when autoscaled gangs get the workers that they ask for, in the futures of start estimates."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

from muster.forecast.assumptions import Assumptions
from muster.forecast.learning.delays import AS_ASSUMED, Delays
from muster.forecast.observed_state import State
from muster.forecast.simulation.worker_group import NextNodes
from muster.forecast.start_estimates import (
    SimulatedFuture,
    StartEstimate,
    run_time_sources,
    simulated_future,
    starts_of,
)

_NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class GrowthEstimate:
    """The first growth of a worker group."""

    group: str
    granted: int  # the pods before: with quota and nodes now, at its minimum, or a larger size
    pods: int  # median over the futures in which it grows; 0: none
    time: StartEstimate  # futures in which the job ends before count as without growth
    request: str = ""  # the pending ProvisioningRequest of these pods; empty: they lack quota


@dataclass(frozen=True, slots=True)
class Estimates:
    """The starts of workloads, and the growth of workloads that ask for more, by key."""

    starts: Mapping[str, StartEstimate]
    growth: Mapping[str, tuple[GrowthEstimate, ...]]


def estimates(
    state: State,
    starting: Collection[str],
    growing: Collection[str],
    assumptions: Assumptions,
    seeds: Sequence[int],
    delays: Delays = AS_ASSUMED,
    beyond: Mapping[str, int] = _NOTHING,
) -> Estimates:
    """Simulates one future per seed until the workloads `starting` have started, and the groups of `growing`
    that ask for more have grown. `beyond` are larger sizes of groups, in pods, to estimate the growth
    beyond."""
    sizes = {
        (key, name): max(pods, beyond.get(name, 0))
        for key in growing
        for name, pods in state.workloads[key].group_sizes.items()
    }
    futures = [simulated_future(state, starting, sizes, assumptions, seed, delays) for seed in seeds]
    sources = run_time_sources(state, assumptions)
    starts = starts_of(state, {*starting, *growing}, futures, sources)
    asking = sorted({group for future in futures for group in future.asking})
    return Estimates(
        starts={key: starts[key] for key in starting},
        growth={
            key: tuple(
                _growth(key, name, futures, sizes[key, name], starts[key], state.workloads[key].nodes)
                for of, name in asking
                if of == key
            )
            for key in dict.fromkeys(key for key, _ in asking)
        },
    )


def _growth(
    key: str,
    name: str,
    futures: Sequence[SimulatedFuture],
    size: int,
    start: StartEstimate,
    nodes: Mapping[str, NextNodes],
) -> GrowthEstimate:
    grown = [future.growth.get((key, name)) for future in futures if key not in future.cancelled]
    pods = [first.pods for first in grown if first is not None]
    times_ms = [None if first is None else first.at_ms for first in grown]
    time = StartEstimate(start.now_ms, times_ms or [None], start.sources)
    requested = nodes[name] if name in nodes and nodes[name].pods else None
    return GrowthEstimate(
        group=name,
        granted=size if requested is None else size - requested.pods,
        pods=median_low(pods) if pods else 0,
        time=time,
        request="" if requested is None else requested.request,
    )
