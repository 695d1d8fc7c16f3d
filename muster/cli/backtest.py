"""`muster backtest`: compares estimates of starts in the past with the starts."""

import json
import sys
from pathlib import Path

import click

from muster.cli import forecast, inputs
from muster.cli.configurations import SimulatedConfiguration
from muster.cli.inputs import ForecastOptions
from muster.cli.nodes import with_nodes_of
from muster.cli.verb import InputError, verb
from muster.forecast.backtest.coverage import coverage_by_group
from muster.forecast.backtest.inferred_queues import inferred_queues
from muster.forecast.backtest.page import write_page
from muster.forecast.backtest.past_run import PastRun, StartsOf, recorded, replayed
from muster.forecast.backtest.report import coverage_document, coverage_table, summary_sentence
from muster.forecast.backtest.rolling import Backtest, backtested, period_of
from muster.forecast.queue_objects import from_manifests
from muster.forecast.report.assumed import PlacedTrace
from muster.forecast.traces.trace import Trace

DAY_MS = 86_400_000
INFERRED = (
    "no configuration is given: each queue has the quota that its jobs used at most, without priorities or "
    "borrowing; give --stack NAME, --queues PATH or --cluster"
)
MISSED = 3
"""The exit code if fewer starts than required are in the range."""


@verb(
    "Estimates starts of past jobs from earlier records, and prints how many started between the 10th and "
    "90th percentile, and the bias of the median, by queue, priority class, gang size and age of the "
    "estimate. Starts of each period, by default a week, are estimated with the records of earlier periods. "
    "Without a configuration, queues are inferred from waits that the trace records. "
    "Exit codes: 0 the coverage is sufficient; "
    f"{MISSED} it is below --min-coverage; 2 invalid input."
)
@forecast.source_options
@click.option(
    "--starts",
    type=click.Choice([source.value for source in StartsOf]),
    help="the starts to compare with: of a replay under the configuration, or the starts in the trace "
    "(default: record for journals, else replay)",
)
@click.option(
    "--samples", type=click.IntRange(min=1), default=200, metavar="N", help="number of jobs to estimate"
)
@click.option(
    "--period-days",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="days in a period (default: 7)",
)
@click.option(
    "--min-coverage",
    type=click.FloatRange(min=0, max=100),
    metavar="PERCENT",
    help=f"exit with {MISSED} if a smaller share of the starts is in the range, such as 75",
)
@click.option("--json", "as_json", is_flag=True, help="print the coverage as JSON")
@inputs.forecast_options
def command(
    source: forecast.ConfigurationSource,
    starts: str | None,
    samples: int,
    period_days: float | None,
    min_coverage: float | None,
    as_json: bool,
    opts: ForecastOptions,
) -> int:
    """Prints the coverage; returns the exit code."""
    inputs.writable(opts.html)
    side, trace = _inputs(source, opts)
    (side,) = with_nodes_of([side], opts.nodes)
    placed = inputs.scenario(opts, side, trace)
    is_inferred = not (source.stack or source.queues or source.cluster)
    run = _past_run(placed, trace, starts, is_inferred=is_inferred)
    period_ms = period_of(run) if period_days is None else round(period_days * DAY_MS)
    test = Backtest(run, side.configuration, range(opts.seeds), period_ms, samples)
    with inputs.progress(f"{samples:,} estimates") as progress:
        estimates = backtested(test, progress)
    if not estimates:
        raise InputError(
            f"{trace.source}: no job starts after the first period; give a shorter --period-days"
        )
    groups = coverage_by_group(estimates)
    if as_json:
        print(json.dumps(coverage_document(side.configuration.name, test, groups), indent=2))
    else:
        from muster.cli.screen import show

        print(f"{side.configuration.name}: {summary_sentence(test, groups)}\n")
        show([coverage_table(groups)])
    if opts.html:
        write_page(opts.html, side.configuration.name, test, groups)
        print(f"page: {opts.html}")
    least = min_coverage or 0.0
    return MISSED if 100 * next(iter(groups.values())).within < least else 0


def _inputs(
    source: forecast.ConfigurationSource, opts: ForecastOptions
) -> tuple[SimulatedConfiguration, Trace]:
    """Reads the configuration and the trace. Without a configuration, the queues are inferred from waits that
    the trace records."""
    if source.stack or source.queues or source.cluster or not opts.trace:
        return forecast.read_inputs(source, opts)
    loaded = inputs.read_trace(opts, None)
    manifests = loaded.manifests or inferred_queues(loaded.trace.jobs)
    if not manifests:
        raise InputError(
            f"{opts.trace} records no waits: give the queues with --stack NAME, --queues PATH or --cluster"
        )
    if not loaded.manifests:
        print(INFERRED, file=sys.stderr)
    return SimulatedConfiguration(from_manifests(Path(opts.trace).name, manifests)), loaded.trace


def _past_run(placed: PlacedTrace, trace: Trace, starts: str | None, *, is_inferred: bool) -> PastRun:
    is_journal = any(job.provisioning_ms is not None or job.start_up_ms is not None for job in trace.jobs)
    default = StartsOf.RECORD if is_journal or is_inferred else StartsOf.REPLAY
    if (StartsOf(starts) if starts else default) is StartsOf.RECORD:
        return recorded(placed.inputs.jobs, trace.jobs)
    return replayed(placed.inputs, trace.jobs)
