"""Options that change the demand of a trace: queues with more or fewer jobs, and teams that are added."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import click

from muster.cli import inputs
from muster.cli.configurations import SimulatedConfiguration
from muster.cli.inputs import PAIR, ForecastOptions, distinct
from muster.cli.verb import InputError, options
from muster.forecast.demand.demand import ALL, FACTOR_MAX, AddedTeam, Demand, JobQueues, demanded
from muster.forecast.demand.resampling import resampling
from muster.forecast.demand.teams import with_queues
from muster.forecast.report.assumed import PlacedTrace
from muster.forecast.traces.trace import Trace

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class DemandOptions:
    """The options of the demand."""

    scale: Pairs
    add_team: Sequence[str]
    like: Sequence[str]


demand_options = options(
    "demand",
    DemandOptions,
    click.option(
        "--scale",
        metavar="QUEUE=FACTOR",
        multiple=True,
        type=PAIR,
        callback=distinct,
        help=f"multiply the jobs of a ClusterQueue, or of `{ALL}` other queues, such as research=1.3; "
        "repeatable. All other jobs and their random draws do not change",
    ),
    click.option(
        "--add-team",
        metavar="QUEUE",
        multiple=True,
        help="add jobs for this ClusterQueue, as many and as large as the jobs of --like. A queue that no "
        "configuration has is assumed, with the quotas of --like; repeatable",
    ),
    click.option(
        "--like", metavar="QUEUE", multiple=True, help="the ClusterQueue whose jobs an added team copies"
    ),
)


resample_option = click.option(
    "--resample",
    is_flag=True,
    help="draw the weeks of the trace in random order for each future, so that ranges include demand; its "
    "days if it has less than two weeks",
)


def with_resampling(placed: PlacedTrace, trace: Trace, resample: bool) -> PlacedTrace:
    """Returns the scenario with the option `--resample`. Raises: InputError for a trace that is too short."""
    if not resample:
        return placed
    blocks = resampling(trace)
    if blocks is None:
        raise InputError(f"--resample: {trace.source} has less than two days; expected at least two")
    return replace(placed, inputs=replace(placed.inputs, resampling=blocks))


@dataclass(frozen=True, slots=True)
class DemandedInputs:
    """The inputs of a forecast with the demand of the options."""

    opts: ForecastOptions
    sides: Sequence[SimulatedConfiguration]
    trace: Trace


def with_demand(
    demand_opts: DemandOptions,
    opts: ForecastOptions,
    sides: Sequence[SimulatedConfiguration],
    trace: Trace,
    replaced: Pairs = (),
) -> DemandedInputs:
    """Returns the inputs with the demand of the options; `replaced` replaces values of --map on the first
    side. Raises: InputError."""
    demand = _demand(demand_opts, {queue for side in sides for queue in _queues(side)})
    if not demand:
        return DemandedInputs(opts, sides, trace)
    queues = job_queues(opts, sides, trace, replaced)
    _check_jobs(demand, queues, trace)
    teams = [(team.queue, team.queue) for team in demand.teams]
    return DemandedInputs(
        replace(opts, map=[*opts.map, *teams]), _with_teams(sides, demand), demanded(trace, queues, demand)
    )


def job_queues(
    opts: ForecastOptions, sides: Sequence[SimulatedConfiguration], trace: Trace, replaced: Pairs = ()
) -> JobQueues:
    """Returns the ClusterQueues of each job on any side."""
    queues: list[set[str]] = [set() for _ in trace.jobs]
    for number, side in enumerate(sides):
        for job in inputs.placed(opts, side, trace, () if number else replaced).jobs:
            queues[job.number].add(job.queue)
    return queues


def _demand(opts: DemandOptions, queues: Collection[str]) -> Demand:
    if len(opts.add_team) != len(opts.like):
        raise InputError(
            f"--add-team is given {len(opts.add_team)} times and --like {len(opts.like)} times; expected a "
            "--like QUEUE for each --add-team QUEUE"
        )
    teams = [AddedTeam(queue, like) for queue, like in zip(opts.add_team, opts.like, strict=True)]
    for team in teams:
        check_queue("--like", team.like, queues)
        if team.queue == team.like:
            raise InputError(f"--add-team {team.queue}: expected another queue than --like")
    if len({team.queue for team in teams}) < len(teams):
        raise InputError("--add-team names a queue twice; expected each once")
    for queue, _ in opts.scale:
        check_queue("--scale", queue, {*queues, *opts.add_team, ALL})
    return Demand({queue: _factor(queue, text) for queue, text in opts.scale}, teams)


def check_queue(option: str, name: str, queues: Collection[str]) -> None:
    """Raises: InputError unless `name` is one of the queues."""
    if name not in queues:
        raise InputError(f"{option} {name}: no such queue; expected one of: {', '.join(sorted(queues))}")


def _factor(queue: str, text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = -1.0
    if not 0 <= factor <= FACTOR_MAX:
        raise InputError(f"--scale {queue}={text}: expected a number from 0 to {FACTOR_MAX:g}, such as 1.3")
    return factor


def _check_jobs(demand: Demand, queues: JobQueues, trace: Trace) -> None:
    """Raises: InputError for a queue without jobs, whose demand cannot be scaled or copied."""
    names = set[str]().union(*queues)
    added = {team.queue for team in demand.teams}
    for queue in (*(team.like for team in demand.teams), *(demand.scales.keys() - added)):
        if queue not in names and queue != ALL:
            raise InputError(f"{trace.source} has no job of queue {queue}; expected a queue with jobs")


def _with_teams(sides: Sequence[SimulatedConfiguration], demand: Demand) -> Sequence[SimulatedConfiguration]:
    """Returns the sides with the queues that none of them has. A queue that only one side has, as the change
    adds it, has no jobs on the other."""
    missing = [team for team in demand.teams if not any(team.queue in _queues(side) for side in sides)]
    for side in sides:
        for team in missing:
            check_queue(f"--like, in {side.configuration.name}:", team.like, _queues(side))
    return [replace(side, configuration=with_queues(side.configuration, missing)) for side in sides]


def _queues(side: SimulatedConfiguration) -> Collection[str]:
    return side.configuration.snapshot.cluster_queues.keys()
