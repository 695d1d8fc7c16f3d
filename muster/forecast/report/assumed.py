"""The block "Assumed and left out": differences of a forecast from its trace and its configuration."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.futures import SimulationInputs
from muster.forecast.placement import flavors_of
from muster.forecast.report.tables import Table
from muster.forecast.report.text import duration
from muster.forecast.report.unstartable import unstartable
from muster.forecast.simulation.simulator import capacities
from muster.forecast.traces.trace import Trace

TITLE = "Assumed and left out"
QUEUES_MAX = 10


@dataclass(frozen=True, slots=True)
class Remark:
    """A difference from the trace or the configuration."""

    text: str
    count: int | None = None  # of jobs or rows; None: it does not concern jobs
    configuration: str = ""  # empty: it applies to all configurations of the report


@dataclass(frozen=True, slots=True)
class PlacedTrace:
    """The jobs of a trace in a configuration, and the number of jobs without a queue in it, by problem."""

    inputs: SimulationInputs
    left_out: Mapping[str, int]
    advised: tuple[str, ...] = ()  # sentences about the responses of `supply_advice`


def remarks(trace: Trace, sides: Sequence[PlacedTrace]) -> list[Remark]:
    """Returns the remarks about the trace, and then about each configuration; remarks that apply to all
    configurations are listed once."""
    of_sides = [list(_of_side(side)) for side in sides]
    shared = [remark for remark in of_sides[0] if all(remark in others for others in of_sides[1:])]
    own = [
        Remark(remark.text, remark.count, side.inputs.configuration.name)
        for side, of_side in zip(sides, of_sides, strict=True)
        for remark in of_side
        if remark not in shared
    ]
    return [*_of_trace(trace), *shared, *own]


def remarks_table(every: Sequence[Remark]) -> list[Table]:
    """Returns the block as a table; no table if there are no remarks."""
    if not every:
        return []
    differ = any(remark.configuration for remark in every)
    columns = ("JOBS", *(("CONFIGURATION",) if differ else ()), "WHAT")
    rows = [
        (
            "" if remark.count is None else f"{remark.count:,}",
            *((remark.configuration,) if differ else ()),
            remark.text,
        )
        for remark in every
    ]
    return [Table(TITLE, columns, rows, numbers=len(columns), wraps=True)]


def remarks_document(every: Sequence[Remark]) -> list[dict[str, Any]]:
    """Returns the block for programs."""
    return [
        {"what": remark.text, "count": remark.count, "configuration": remark.configuration or None}
        for remark in every
    ]


def _of_trace(trace: Trace) -> Iterator[Remark]:
    for reason in trace.bad_reasons.values():
        others = " and others" if reason.count > 1 else ""
        yield Remark(f"invalid: {reason.first.where}{others}: {reason.first.problem}", reason.count)
    for why, count in trace.skipped.items():
        yield Remark(f"skipped: {why}", count)
    for how, count in trace.adjusted.items():
        yield Remark(f"changed: {how}", count)


def _of_side(side: PlacedTrace) -> Iterator[Remark]:
    jobs, configuration = side.inputs.jobs, side.inputs.configuration
    for problem, count in side.left_out.items():
        yield Remark(f"left out: {problem}", count)
    yield from (Remark(jobs.described, jobs.count) for jobs in unstartable(side.inputs))
    if drawn := sum(job.has_drawn_run_time for job in jobs):
        yield Remark("run time is not recorded: drawn from similar jobs", drawn)
    if side.inputs.resampling is not None:
        yield Remark(side.inputs.resampling.described)
    if cancelled := sum(job.cancelled_ms is not None for job in jobs):
        yield Remark("cancelled before they started: they leave the queue after the recorded time", cancelled)
    yield from _of_growth(side.inputs)
    yield from _of_topologies(configuration)
    yield from _of_supply(side.inputs)
    yield from map(Remark, side.advised)
    for queue, like in configuration.assumed_queues.items():
        yield Remark(f"queue {queue} is assumed, with the quotas of {like} in addition to all others")
    if empty := sorted(configuration.snapshot.cluster_queues.keys() - {job.queue for job in jobs}):
        more = f" and {len(empty) - QUEUES_MAX} more" if len(empty) > QUEUES_MAX else ""
        yield Remark(f"no job in the trace: {', '.join(empty[:QUEUES_MAX])}{more}")
    yield from _assumptions(side.inputs.assumptions)


def _of_growth(inputs: SimulationInputs) -> Iterator[Remark]:
    """Yields how autoscaled jobs ask for workers."""
    count, share = sum(bool(job.groups) for job in inputs.jobs), inputs.assumptions.unmet_demand
    if not count:
        return
    more = f", and at their limit for {share:.0%} of what they lack to their maximum" if share else ""
    yield Remark(
        f"autoscaled: they ask for the workers of their record after their start (recorded demand){more}; "
        "their run times do not depend on their sizes",
        count,
    )


def _of_topologies(configuration: QueueConfiguration) -> Iterator[Remark]:
    """Yields topologies that are ignored, nodes and requests that are assumed, and flavors that jobs without
    a topology request do not use."""
    if configuration.without_nodes:
        lacking = ", ".join(configuration.without_nodes)
        for flavor, topology in configuration.topologies.items():
            yield Remark(
                f"topology {topology.name} of flavor {flavor} is ignored, and only quota limits its gangs: "
                f"there are no nodes of {lacking}; --nodes PATH reads them"
            )
        return
    yield from map(Remark, configuration.assumed_nodes)
    for flavor, request in configuration.topology_requests.items():
        level = f"require one {request.required}" if request.required else f"prefer one {request.preferred}"
        yield Remark(f"flavor {flavor}: gangs of its queues {level}, unless the trace records a request")
    provisioned = frozenset().union(*configuration.provisioned.values())
    for flavor in sorted(provisioned & configuration.topologies.keys()):
        yield Remark(f"flavor {flavor}: gangs are not placed, as a ProvisioningRequest creates their nodes")
    for queue in configuration.snapshot.cluster_queues.values():
        flavors = flavors_of(queue)
        placing = [name for name in flavors if name in configuration.topologies]
        if len(placing) < len(flavors) and configuration.topology_requests.keys().isdisjoint(placing):
            for flavor in placing:
                text = f"queue {queue.name}: jobs without a topology request do not use flavor {flavor}"
                yield Remark(text)


def _of_supply(inputs: SimulationInputs) -> Iterator[Remark]:
    """Yields interruptions of nodes that are not simulated."""
    configuration = inputs.configuration
    if configuration.spot and not inputs.assumptions.spot_interruptions_per_node_hour:
        flavors = ", ".join(sorted(configuration.spot))
        yield Remark(f"spot nodes are never reclaimed: spot_interruptions_per_node_hour is 0 ({flavors})")
    for flavor, life_s in configuration.node_life_s.items():
        queues = {queue.name for queue in capacities(configuration) if queue.nominal.get(flavor)}
        long = (job for job in inputs.jobs if job.queue in queues and (job.run_ms or 0) > 1000 * life_s)
        if count := sum(1 for _ in long):
            yield Remark(
                f"run longer than GKE keeps nodes of flavor {flavor} ({duration(life_s)}): not interrupted",
                count,
            )


def _assumptions(assumptions: Assumptions) -> Iterator[Remark]:
    for assumption in fields(assumptions):
        value = getattr(assumptions, assumption.name)
        if value != assumption.default:
            yield Remark(f"{assumption.name} is {value:g} (default: {assumption.default:g})")
