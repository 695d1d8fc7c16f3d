"""The options of `muster recommend`, and its help."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from muster.cli.demand import resample_option
from muster.cli.paths import InputPath, OutputPath
from muster.cli.prices import prices_option
from muster.cli.verb import options
from muster.forecast.recommend import goals, search
from muster.forecast.recommend.ray_tasks import INSTALL, LOCAL
from muster.forecast.recommend.variables import TARGETS, VALUES

NOT_MET = 3
"""The exit code if no candidate meets the goals."""
PAID = ("quota", "use")
JOURNALS = Path(".muster/recommend")
DESCRIPTION = f"""\
Searches the quotas, limits, weights and pool sizes of a stack file for the cheapest settings that meet
waiting-time goals, by replaying a trace under each candidate. Exit code {NOT_MET}: no candidate meets them.

The cost is that of a month: the quota (at most the capacity of the pool) x the price (muster:forecast.prices,
or --prices) x 730 hours; without prices, it is the number of accelerators. With --pay use, the cost is as in
`muster forecast`: reserved pools are paid at all times, all others while gangs hold them. A job that never
starts has an infinite wait, and a recommendation never keeps a job from starting that starts under the
current settings.

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
    pay: str


search_options = options(
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
    click.option(
        "--pay",
        type=click.Choice(PAID),
        default=PAID[0],
        help="the cost of a candidate: all of its quotas, or what gangs use and reservations cost",
    ),
)
