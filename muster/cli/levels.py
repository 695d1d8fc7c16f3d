"""Options of forecasts and plans for limits of waits and for service levels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import click

from muster.cli.verb import InputError, options, parsed
from muster.forecast.futures import SimulationInputs
from muster.forecast.limits import WaitLimit
from muster.forecast.recommend.errors import RecommendError
from muster.forecast.recommend.goals import SYNTAX, check_goals, parse_goal, parse_time
from muster.forecast.report.service_levels import LevelsWithin, levels_within, times
from muster.forecast.results.outcome import SimulationOutcome


@dataclass(frozen=True, slots=True)
class LevelOptions:
    """The options of limits and service levels."""

    limit: Sequence[WaitLimit]
    within: Sequence[float]


level_options = options(
    "level",
    LevelOptions,
    click.option(
        "--limit",
        metavar="LIMIT",
        multiple=True,
        type=parsed(parse_goal),
        help=f"a limit in addition to the stack's forecast.limits: {SYNTAX}; repeatable",
    ),
    click.option(
        "--within",
        metavar="TIME",
        multiple=True,
        type=parsed(lambda text: parse_time(text, "--within")),
        help="show the share of jobs that start within this time, such as 30m, also by month; repeatable",
    ),
)


def checked_limits(
    level: LevelOptions, declared: Sequence[WaitLimit], sides: Iterable[SimulationInputs]
) -> list[WaitLimit]:
    """Returns the limits of the stack file and of the options. Raises: InputError for a limit of the options
    that applies to no job of any side."""
    sides = list(sides)
    jobs = [job for side in sides for job in side.jobs]
    queues = [queue for side in sides for queue in side.configuration.snapshot.cluster_queues]
    try:
        check_goals(level.limit, jobs, queues)
    except RecommendError as error:
        raise InputError(str(error)) from error
    return [*declared, *level.limit]


def shown_levels(
    level: LevelOptions,
    limits: Sequence[WaitLimit],
    sides: Sequence[Sequence[SimulationOutcome]],
    begins_ms: int | None,
) -> list[LevelsWithin]:
    """Returns the service levels of the options and of the limits."""
    return levels_within(sides, times(limits, level.within), begins_ms)
