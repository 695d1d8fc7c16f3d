"""`muster forecast`: simulates the waiting times of a trace of jobs under a queue configuration."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from muster.cli import configurations, inputs, live
from muster.cli.configurations import SimulatedConfiguration
from muster.cli.demand import DemandOptions, demand_options, resample_option, with_demand, with_resampling
from muster.cli.headroom import GrowingDemand, check_headroom, headrooms
from muster.cli.inputs import ForecastOptions
from muster.cli.levels import LevelOptions, checked_limits, level_options, shown_levels
from muster.cli.nodes import with_nodes_of
from muster.cli.paths import InputPath
from muster.cli.prices import prices_option, with_prices
from muster.cli.verb import InputError, exclusive, options, verb
from muster.forecast import assumptions, futures
from muster.forecast.queue_objects import from_manifests, from_objects, parse_controller
from muster.forecast.report.assumed import remarks
from muster.forecast.report.costs import cost_remarks, costs_of
from muster.forecast.report.forecast_report import ForecastReport
from muster.forecast.report.limits import results_with_jobs
from muster.forecast.report.tables import Table
from muster.forecast.traces.trace import Trace
from muster.live.observed import QUEUE_KINDS
from muster.live.state import queue_objects


@dataclass(frozen=True, slots=True)
class ConfigurationSource:
    """The options that name the queue configuration."""

    stack: str | None
    queues: Path | None
    cluster: bool
    kubeconfig: str | None
    context: str | None


source_options = options(
    "source",
    ConfigurationSource,
    click.option(
        "--stack",
        metavar="NAME",
        type=InputPath(str),
        help="stacks/Pulumi.NAME.yaml of this checkout, or a path",
    ),
    click.option("--queues", metavar="PATH", type=InputPath(), help="a file or folder of Kueue manifests"),
    click.option(
        "--cluster", is_flag=True, help="the queues of a running cluster (default: of the current context)"
    ),
    click.option(
        "--kubeconfig",
        metavar="FILE",
        type=InputPath(str),
        help="with --cluster (default: $KUBECONFIG, else ~/.kube/config)",
    ),
    live.context_option,
)


@verb(
    "Replays a trace of jobs through the admission core that decides in production, and prints waits by "
    "queue, priority class and gang size, flavor usage, and accelerator-hours by team. The same seed gives "
    "the same result."
)
@source_options
@click.option("--json", "as_json", is_flag=True, help="print every future as JSON")
@click.option(
    "--headroom",
    metavar="QUEUE",
    multiple=True,
    help="find the growth of this ClusterQueue's demand, or of `all`, at which each limit is first exceeded; "
    "repeatable",
)
@resample_option
@prices_option
@level_options
@demand_options
@inputs.forecast_options
def command(
    source: ConfigurationSource,
    as_json: bool,
    headroom: Sequence[str],
    resample: bool,
    prices: Path | None,
    level: LevelOptions,
    demand: DemandOptions,
    opts: ForecastOptions,
) -> int:
    """Prints the waits under a configuration; returns the exit code."""
    from muster.cli.screen import show

    exclusive(stack=source.stack, queues=source.queues, cluster=source.cluster)
    if opts.lists_assumptions:
        show([assumptions_table()])
        return 0
    inputs.writable(opts.html)
    report = _simulated(source, headroom, resample, prices, level, demand, opts)
    if as_json:
        print(json.dumps(report.document, indent=2))
    else:
        print(f"{report.summary}\n")
        show(report.tables)
    if opts.html:
        from muster.forecast.page import ForecastSide, write_page

        side = ForecastSide(report.name, report.outcomes)
        write_page([side], opts.html, remarks=report.remarks, tables=report.own_tables)
        print(f"page: {opts.html}")
    return 0


def _simulated(
    source: ConfigurationSource,
    headroom: Sequence[str],
    resample: bool,
    prices: Path | None,
    level: LevelOptions,
    demand: DemandOptions,
    opts: ForecastOptions,
) -> ForecastReport:
    side, recorded = read_inputs(source, opts)
    (side,) = with_prices(with_nodes_of([side], opts.nodes), prices)
    inputs.check_targets(inputs.targets(opts), [side])
    changed = with_demand(demand, opts, [side], recorded)
    (side,), trace, opts = changed.sides, changed.trace, changed.opts
    placed = with_resampling(inputs.scenario(opts, side, trace), trace, resample)
    scenario = placed.inputs
    limits = checked_limits(level, side.limits, [scenario])
    check_headroom(headroom, side, limits)
    with inputs.progress(f"{len(scenario.jobs):,} jobs") as progress:
        outcomes = futures.run(scenario, range(opts.seeds), progress)
    costs = costs_of([scenario], [outcomes], side.prices)
    # Under another demand, the recorded waits say nothing about the forecast.
    is_past = trace is recorded and not resample
    waits = ((number, job.waited_ms) for number, job in enumerate(trace.jobs if is_past else ()))
    return ForecastReport(
        side.configuration.name,
        outcomes,
        futures.is_random(scenario),
        {number: wait_ms for number, wait_ms in waits if wait_ms is not None},
        results_with_jobs(limits, outcomes),
        shown_levels(level, limits, [outcomes], trace.begins_ms),
        headrooms(headroom, GrowingDemand(opts, side, trace, outcomes, resample), limits),
        costs,
        trace.begins_ms,
        [*remarks(trace, [placed]), *cost_remarks(costs, [scenario], [side.prices])],
    )


def read_inputs(source: ConfigurationSource, opts: ForecastOptions) -> tuple[SimulatedConfiguration, Trace]:
    """Reads the configuration and the trace; a file of Kueue's performance generator holds both."""
    if source.stack:
        side = configurations.stack(source.stack)
        return side, inputs.read_trace(opts, side.trace).trace
    if source.queues:
        side = configurations.manifests_at(source.queues, opts.configuration)
        return side, inputs.read_trace(opts, None).trace
    if source.cluster:
        trace = inputs.read_trace(opts, None).trace
        return _running(source, opts.configuration), trace
    loaded = inputs.read_trace(opts, None)
    if not loaded.manifests:
        raise InputError("no configuration: give --stack NAME in a checkout, --queues PATH, or --cluster")
    return SimulatedConfiguration(from_manifests(Path(opts.trace or "").name, loaded.manifests)), loaded.trace


def _running(source: ConfigurationSource, controller: str) -> SimulatedConfiguration:
    """Reads the configuration of a running cluster; reports the kinds that it does not serve."""
    observed = live.listed(source.kubeconfig, source.context, QUEUE_KINDS)
    for kind, why in observed.unread.items():
        print(f"assuming no {kind}: {why}", file=sys.stderr)
    name = "the cluster"
    objects, configuration = queue_objects(observed.cluster), parse_controller(name, controller)
    return SimulatedConfiguration(from_objects(name, objects, configuration))


def assumptions_table() -> Table:
    """Returns the reference of all assumptions."""
    return Table(
        "Assumptions (--assume NAME=VALUE)",
        ("NAME", "DEFAULT", "MEANING", "SOURCE"),
        assumptions.reference(),
        numbers=4,
        wraps=True,
    )
