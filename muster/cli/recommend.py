"""`muster recommend`: finds quotas and pool sizes that meet waiting-time goals at the lowest cost."""

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from muster.cli import inputs
from muster.cli.demand import DemandOptions, demand_options, with_demand, with_resampling
from muster.cli.inputs import ForecastOptions
from muster.cli.prices import with_prices
from muster.cli.recommend_options import DESCRIPTION, EPILOG, JOURNALS, NOT_MET, SearchOptions, search_options
from muster.cli.recommend_stack import ValidStackFile, read_stack
from muster.cli.verb import InputError, verb
from muster.files.writing import write_text
from muster.forecast import futures
from muster.forecast.limits import WaitLimit
from muster.forecast.recommend import chart, goals, report, search
from muster.forecast.recommend.candidates import Candidates
from muster.forecast.recommend.errors import RecommendError
from muster.forecast.recommend.evaluation import Evaluator, digest
from muster.forecast.recommend.journal import ResultStore
from muster.forecast.recommend.patch import patch, path_in_repository
from muster.forecast.recommend.ray_tasks import RayTasks
from muster.forecast.recommend.scores import Score
from muster.forecast.recommend.tasks import SearchInputs, WorkerProcesses
from muster.forecast.recommend.variables import parse_variables
from muster.forecast.recommend.yaml_edits import edited
from muster.forecast.report.assumed import Remark, remarks, remarks_document, remarks_table

if TYPE_CHECKING:
    from muster.forecast.recommend.tasks import Executor


@dataclass(frozen=True, slots=True)
class Inputs:
    """The search, as the command line and its files define it."""

    stack: ValidStackFile
    request: SearchInputs
    candidates: Candidates
    plan: search.SearchPlan
    remarks: Sequence[Remark]


@verb(DESCRIPTION, EPILOG)
@search_options
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
    stack = read_stack(search_opts.stack, opts.nodes)
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
    prices = stack.side.prices
    if search_opts.pay == "use" and not prices:
        raise InputError("--pay use needs prices: give --prices FILE, or muster:forecast.prices in the stack")
    candidates = Candidates(stack.config, variables, stack.build, prices)
    seeds = range(opts.seeds if futures.is_random(scenario) else 1)
    plan = search.plan(variables, seeds, len(jobs), search_opts.candidates, search_opts.search_seed)
    priced = [Remark(prices.described)] if prices else []
    request = SearchInputs(
        jobs, scenario.assumptions, limits, scenario.resampling, prices if search_opts.pay == "use" else None
    )
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
