"""`muster plan`: compares waiting times before and after a change to a stack."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from muster.cli import configurations, inputs
from muster.cli.configurations import SimulatedConfiguration
from muster.cli.demand import DemandOptions, demand_options, resample_option, with_demand, with_resampling
from muster.cli.forecast import assumptions_table
from muster.cli.inputs import ForecastOptions
from muster.cli.levels import LevelOptions, checked_limits, level_options, shown_levels
from muster.cli.nodes import with_nodes_of
from muster.cli.paths import InputPath, OutputPath
from muster.cli.prices import prices_option, with_prices
from muster.cli.verb import InputError, options, verb
from muster.files.writing import write_text
from muster.forecast import futures
from muster.forecast.futures import SimulationInputs
from muster.forecast.limits import ExceededLimit, exceeded
from muster.forecast.report.assumed import remarks
from muster.forecast.report.costs import cost_remarks, costs_of
from muster.forecast.report.markdown import markdown
from muster.forecast.report.plan_report import PlanReport
from muster.forecast.report.service_levels import levels_of_limits
from muster.forecast.results.comparison import compare
from muster.forecast.results.outcome import SimulationOutcome

VIOLATED = 3
"""The exit code if the change exceeds a limit of the stack file, or exceeds it by more than the base."""
EXCEEDED_BEFORE = 4
"""The exit code if limits are exceeded, but all of them before the change too, and by no less."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options that name the two configurations."""

    stack: str | None
    base: str | None
    change: Path | None
    queues: Path | None
    base_queues: Path | None
    base_map: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """The options for the output of the comparison."""

    json: bool
    markdown: Path | None


@verb(
    "Replays one trace under two configurations, with the same random draws, and prints how waits differ. "
    f"Exit code {VIOLATED}: the change exceeds a limit in forecast.limits of the stack file. Exit code "
    f"{EXCEEDED_BEFORE}: a limit is exceeded, but before the change too, and by no less."
)
@options(
    "plan",
    PlanOptions,
    click.option(
        "--stack",
        metavar="NAME",
        type=InputPath(str),
        help="stacks/Pulumi.NAME.yaml of this checkout, or a path",
    ),
    click.option(
        "--base", metavar="REF", type=InputPath(str), help="a git ref, such as main, or a stack file"
    ),
    click.option(
        "--change",
        metavar="PATCH",
        type=InputPath(),
        help="patch of the stack file to try, in the format of git diff",
    ),
    click.option("--queues", metavar="PATH", type=InputPath(), help="a file or folder of Kueue manifests"),
    click.option("--base-queues", metavar="PATH", type=InputPath(), help="manifests to compare with"),
    click.option(
        "--base-map",
        metavar="NAME=QUEUE",
        multiple=True,
        type=inputs.PAIR,
        callback=inputs.distinct,
        help="as --map, for the jobs before the change; replaces values of --map",
    ),
)
@options(
    "output",
    OutputOptions,
    click.option("--json", is_flag=True, help="print the differences as JSON"),
    click.option(
        "--markdown", metavar="FILE", type=OutputPath(), help="also write a pull request comment in Markdown"
    ),
)
@resample_option
@prices_option
@level_options
@demand_options
@inputs.forecast_options
def command(
    plan: PlanOptions,
    output: OutputOptions,
    resample: bool,
    prices: Path | None,
    level: LevelOptions,
    demand: DemandOptions,
    opts: ForecastOptions,
) -> int:
    """Prints the effect of a change on waits, and the violated limits; returns the exit code."""
    from muster.cli.screen import show

    if opts.lists_assumptions:
        show([assumptions_table()])
        return 0
    inputs.writable(output.markdown, opts.html)
    report = _compared(plan, resample, prices, level, demand, opts)
    _print(report, output)
    if opts.html:
        from muster.forecast.page import ForecastSide, write_page

        sides = [ForecastSide(report.base, report.before), ForecastSide(report.changed, report.after)]
        write_page(sides, opts.html, report.limits, report.remarks, report.own_tables)
    return _exit_code(report.limits)


def _compared(
    plan: PlanOptions,
    resample: bool,
    prices: Path | None,
    level: LevelOptions,
    demand: DemandOptions,
    opts: ForecastOptions,
) -> PlanReport:
    """Simulates both configurations."""
    sides = with_nodes_of(_configurations(plan, opts.configuration), opts.nodes)
    base, changed = with_prices(sides, prices)
    trace = inputs.read_trace(opts, changed.trace).trace
    inputs.check_targets([*inputs.targets(opts), *(target for _, target in plan.base_map)], (base, changed))
    demanded = with_demand(demand, opts, (base, changed), trace, plan.base_map)
    (base, changed), trace, opts = demanded.sides, demanded.trace, demanded.opts
    placed = [
        with_resampling(inputs.scenario(opts, side, trace, replaced), trace, resample)
        for side, replaced in ((base, plan.base_map), (changed, ()))
    ]
    scenarios = [side.inputs for side in placed]
    declared = checked_limits(level, changed.limits, scenarios)
    before, after = paired(*(_simulated(side, opts.seeds) for side in scenarios))
    comparison = compare(before, after)
    levels = shown_levels(level, declared, (before, after), trace.begins_ms)
    costs = costs_of(scenarios, (before, after), changed.prices or base.prices)
    return PlanReport(
        base.configuration.name,
        changed.configuration.name,
        before,
        after,
        comparison,
        list(exceeded(comparison, declared, levels_of_limits(levels, declared))),
        levels,
        costs,
        trace.begins_ms,
        [*remarks(trace, placed), *cost_remarks(costs, scenarios, (base.prices, changed.prices))],
    )


def _simulated(side: SimulationInputs, seeds: int) -> Sequence[SimulationOutcome]:
    with inputs.progress(f"{side.configuration.name}: {len(side.jobs):,} jobs") as progress:
        return futures.run(side, range(seeds), progress)


def _exit_code(limits: Sequence[ExceededLimit]) -> int:
    if any(limit.by_change for limit in limits):
        return VIOLATED
    return EXCEEDED_BEFORE if limits else 0


def _configurations(
    plan: PlanOptions, controller: str
) -> tuple[SimulatedConfiguration, SimulatedConfiguration]:
    name, base = plan.stack, plan.base
    if name and (base or plan.change):
        changed = configurations.stack(name, patch=plan.change)
        is_file = base is not None and base.endswith((".yaml", ".yml"))
        return configurations.stack(base if base and is_file else name, None if is_file else base), changed
    if plan.queues and plan.base_queues:
        paths = plan.base_queues, plan.queues
        before, after = (configurations.manifests_at(path, controller) for path in paths)
        return before, after
    raise InputError(
        "expected two configurations: give --stack NAME with --base REF or --change PATCH, or --queues "
        "PATH with --base-queues PATH"
    )


def paired(
    before: Sequence[SimulationOutcome], after: Sequence[SimulationOutcome]
) -> tuple[Sequence[SimulationOutcome], Sequence[SimulationOutcome]]:
    """Repeats the single future of a deterministic side, so that both sides have equally many futures."""
    count = max(len(before), len(after))
    return _repeated(before, count), _repeated(after, count)


def _repeated(side: Sequence[SimulationOutcome], count: int) -> Sequence[SimulationOutcome]:
    return [*side] * count if len(side) == 1 else side


def _print(report: PlanReport, output: OutputOptions) -> None:
    from muster.cli.screen import show

    if output.json:
        print(json.dumps(report.document, indent=2))
    else:
        print("\n".join(report.summary) + "\n")
        show(report.tables)
        for limit in report.limits:
            print(limit.sentence)
    if output.markdown:
        lines = [f"- {line}" for line in report.summary]
        lines += [
            f"- **{limit.sentence}**" if limit.by_change else f"- {limit.sentence}" for limit in report.limits
        ]
        write_text(output.markdown, markdown(f"Waiting times: {report.changed}", lines, report.tables))
