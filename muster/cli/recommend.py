"""`muster recommend`: finds quotas and pool sizes that meet waiting-time goals at the lowest cost."""

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import inputs
from muster.cli.demand import DemandOptions, demand_options, resample_option, with_demand, with_resampling
from muster.cli.inputs import ForecastOptions
from muster.cli.paths import InputPath, OutputPath
from muster.cli.prices import prices_option, with_prices
from muster.cli.recommend_stack import ValidStackFile, read_stack
from muster.cli.verb import InputError, options, verb
from muster.files.writing import write_text
from muster.forecast import futures
from muster.forecast.limits import WaitLimit
from muster.forecast.recommend import chart, goals, report, search
from muster.forecast.recommend.candidates import Candidates
from muster.forecast.recommend.errors import RecommendError
from muster.forecast.recommend.evaluation import Evaluator, digest
from muster.forecast.recommend.journal import ResultStore
from muster.forecast.recommend.patch import patch, path_in_repository
from muster.forecast.recommend.ray_tasks import INSTALL, LOCAL, RayTasks
from muster.forecast.recommend.scores import Score
from muster.forecast.recommend.tasks import SearchInputs, WorkerProcesses
from muster.forecast.recommend.variables import TARGETS, VALUES, parse_variables
from muster.forecast.recommend.yaml_edits import edited
from muster.forecast.report.assumed import Remark, remarks, remarks_document, remarks_table

if TYPE_CHECKING:
    from muster.forecast.recommend.tasks import Executor

NOT_MET = 3
"""The exit code if no candidate meets the goals."""
JOURNALS = Path(".muster/recommend")
DESCRIPTION = f"""\
Searches the quotas, limits, weights and pool sizes of a stack file for the cheapest settings that meet
waiting-time goals, by replaying a trace under each candidate. Exit code {NOT_MET}: no candidate meets them.

The cost is that of a month: the quota (at most the capacity of the pool) x the price (muster:forecast.prices,
or --prices) x 730 hours; without prices, it is the number of accelerators. A job that never starts has an
infinite wait, and a recommendation never keeps a job from starting that starts under the current settings.

If there are at most --candidates combinations, all are simulated in full. Otherwise --candidates combinations
are screened with {search.SCREEN_SEEDS} seeds on the first {search.SCREEN_SHARE:.0%} of the jobs: first a
sample spread over all combinations, then neighbors of the best. The best candidate and the Pareto front of
the screening are simulated in full, and then neighbors of the best until none is better. Results are stored
in {JOURNALS}/; after an interruption, the same command resumes.
"""
EPILOG = f"""\
\b
targets of --vary:
{TARGETS}

values: {VALUES}

If a nominal quota changes, the CPU and memory quotas of its flavor change in proportion. If a pool changes,
so do the nominal quotas of its flavor, unless --vary names one of them. Quotas may not exceed their pool by
more than they do now.

\b
example:
  muster recommend --stack prod --trace examples/traces/three-teams.csv --goal "recommendations p90 <= 4h" \\
    --vary pools.l4-queued=24..48:8 --vary queues.recommendations.l4-queued=24..48:8 --patch answer.patch
"""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The search, as the command line and its files define it."""

    stack: ValidStackFile
    request: SearchInputs
    candidates: Candidates
    plan: search.SearchPlan
    remarks: Sequence[Remark]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The options of the search and of its output."""

    stack: str
    goal: Sequence[str]
    vary: Sequence[str]
    candidates: int
    search_seed: int
    patch: Path | None
    json: bool
    fresh: bool
    ray: str | None
    resample: bool
    prices: Path | None


@verb(DESCRIPTION, EPILOG)
@options(
    "search_opts",
    SearchOptions,
    click.option(
        "--stack",
        metavar="NAME",
        type=InputPath(str),
        required=True,
        help="stacks/Pulumi.NAME.yaml of this checkout, or a path",
    ),
    click.option(
        "--goal",
        metavar="GOAL",
        multiple=True,
        help=f"{goals.SYNTAX}; repeatable (default: the stack's forecast.limits)",
    ),
    click.option(
        "--vary",
        metavar="TARGET=VALUES",
        multiple=True,
        help="a setting to vary and its values; repeatable (see below)",
    ),
    click.option(
        "--candidates",
        type=click.IntRange(min=1),
        default=search.CANDIDATES,
        metavar="N",
        help="maximum number of combinations to try",
    ),
    click.option("--search-seed", type=int, default=0, metavar="N", help="seed of the search"),
    click.option(
        "--patch", metavar="FILE", type=OutputPath(), help="write the recommendation as a patch for git apply"
    ),
    click.option("--json", is_flag=True, help="print all candidates as JSON"),
    click.option("--fresh", is_flag=True, help=f"ignore the results of earlier runs in {JOURNALS}/"),
    click.option(
        "--ray",
        metavar="[ADDRESS]",
        is_flag=False,
        flag_value=LOCAL,
        help=f"run simulations as Ray tasks, on this machine or on the cluster at ADDRESS; {INSTALL}",
    ),
    resample_option,
    prices_option,
)
@demand_options
@inputs.forecast_options
def command(search_opts: SearchOptions, demand: DemandOptions, opts: ForecastOptions) -> int:
    """Prints the cheapest configurations that meet the goals; returns the exit code."""
    from muster.cli.forecast import assumptions_table
    from muster.cli.screen import show

    if opts.lists_assumptions:
        show([assumptions_table()])
        return 0
    inputs.writable(opts.html)
    try:
        search_inputs = _inputs(search_opts, demand, opts)
        result, evaluator = _search(search_opts, search_inputs)
        text = edited(search_inputs.stack.text, result.best.candidate.config)
    except RecommendError as error:
        raise InputError(str(error)) from error
    _print(search_opts, opts.html, search_inputs, result, evaluator)
    if search_opts.patch:
        _write_patch(search_opts.patch, search_inputs.stack, result.best, text)
    return 0 if result.best.meets else NOT_MET


def _inputs(search_opts: SearchOptions, demand: DemandOptions, opts: ForecastOptions) -> Inputs:
    stack = read_stack(search_opts.stack)
    (side,) = with_prices([stack.side], search_opts.prices)
    stack = replace(stack, side=side)
    trace = inputs.read_trace(opts, stack.side.trace).trace
    inputs.check_targets(inputs.targets(opts), [stack.side])
    demanded = with_demand(demand, opts, [stack.side], trace)
    trace, opts = demanded.trace, demanded.opts
    if assumed := demanded.sides[0].configuration.assumed_queues:
        raise InputError(
            f"--add-team {', '.join(assumed)}: no such queue; expected a queue of {stack.file}, whose "
            "settings are varied"
        )
    placed = with_resampling(inputs.scenario(opts, stack.side, trace), trace, search_opts.resample)
    scenario = placed.inputs
    jobs = scenario.jobs
    if all(job.run_ms is None for job in jobs):
        raise InputError(f"{trace.source}: no job has a run time; expected at least one")
    limits: Sequence[WaitLimit] = [goals.parse_goal(text) for text in search_opts.goal] or stack.side.limits
    if not limits:
        raise InputError(f"no goal: give --goal {goals.SYNTAX}, or muster:forecast.limits in the stack file")
    goals.check_goals(limits, jobs, list(scenario.configuration.snapshot.cluster_queues))
    variables = parse_variables(search_opts.vary, stack.config)
    candidates = Candidates(stack.config, variables, stack.build, stack.side.prices)
    seeds = range(opts.seeds if futures.is_random(scenario) else 1)
    plan = search.plan(variables, seeds, len(jobs), search_opts.candidates, search_opts.search_seed)
    prices = stack.side.prices
    priced = [Remark(f"prices are in {prices.described}")] if prices else []
    request = SearchInputs(jobs, scenario.assumptions, limits, scenario.resampling)
    return Inputs(stack, request, candidates, plan, [*remarks(trace, [placed]), *priced])


def _search(search_opts: SearchOptions, search_inputs: Inputs) -> tuple[search.SearchResult, Evaluator]:
    inputs_digest = digest(search_inputs.request)
    file = JOURNALS / f"{inputs_digest[:16]}.jsonl"
    count, jobs = search_inputs.plan.budget, len(search_inputs.request.jobs)
    with (
        ResultStore(file, search_opts.fresh) as journal,
        _executor(search_opts.ray, search_inputs.request) as executor,
        inputs.progress(f"{count:,} candidates, {jobs:,} jobs") as progress,
    ):
        evaluator = Evaluator(inputs_digest, executor, journal, search_inputs.plan.effort, progress)
        result = search.Search(
            search_inputs.candidates, search_inputs.request.goals, search_inputs.plan, evaluator
        ).run()
    return result, evaluator


def _executor(ray: str | None, request: SearchInputs) -> "AbstractContextManager[Executor]":
    return RayTasks(request, ray) if ray else WorkerProcesses(request)


def _print(
    search_opts: SearchOptions,
    html: Path | None,
    search_inputs: Inputs,
    result: search.SearchResult,
    evaluator: Evaluator,
) -> None:
    from muster.cli.screen import show

    invalid, limits = search_inputs.candidates.invalid, search_inputs.request.goals
    name, currency = search_inputs.stack.side.configuration.name, search_inputs.stack.side.prices.currency
    tables = report.front_tables(result, limits, currency)
    assumed = remarks_table(search_inputs.remarks)
    answer = report.summary(result, limits)
    if search_opts.json:
        document = report.document(name, result, limits, invalid, currency)
        document["assumed_and_left_out"] = remarks_document(search_inputs.remarks)
        print(json.dumps(document, indent=2))
    else:
        tried = f"{result.screened:,} candidates tried, " if result.screened else ""
        resumed = f"; {evaluator.resumed:,} results from earlier runs" if evaluator.resumed else ""
        print(f"{name}: {tried}{len(result.scores):,} simulated in full{resumed}\n")
        show([*tables, *report.invalid_table(invalid), *assumed])
        print(answer)
    if html:
        write_text(html, chart.page(name, result, limits, [*tables, *assumed], answer))


def _write_patch(file: Path, stack: ValidStackFile, best: Score, text: str) -> None:
    """Writes the answer, unless there is none or it changes nothing."""
    if not best.meets or text == stack.text:
        why = "nothing changes" if best.meets else "no candidate meets the goals"
        print(f"{file} is not written: {why}", file=sys.stderr)
        return
    write_text(file, patch(path_in_repository(stack.file), stack.text, text))
