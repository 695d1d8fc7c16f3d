"""`muster top`: shows usage by flavor and by team."""

from collections.abc import Sequence

import click

from muster.admission import quantities
from muster.cli import view
from muster.cli.verb import verb
from muster.cli.view import VerbOutput, ViewOptions, ago, size
from muster.forecast.report.tables import Table
from muster.live.overview.overview import Overview
from muster.live.overview.usage import FlavorTotal, TeamUsage, flavor_usage, team_usage

BAR = 20  # characters


@verb(
    """Shows the usage of each flavor's quota over all ClusterQueues, and the workloads of each team (a
    namespace). Use --watch for a live view."""
)
@click.option("-A", "--all-namespaces", is_flag=True, help="the teams of all namespaces, as without -n")
@view.view_options
def command(all_namespaces: bool, opts: ViewOptions) -> int:
    """Prints the usage of flavors and teams; returns the exit code."""
    namespace = None if all_namespaces else opts.namespace

    def shown(cluster_overview: Overview) -> VerbOutput:
        flavors = flavor_usage(cluster_overview)
        teams = tuple(team for team in team_usage(cluster_overview) if namespace in (None, team.namespace))
        tables = [_flavors(flavors, opts.is_wide), _teams(teams, cluster_overview.now_ms, opts.is_wide)]
        return VerbOutput({"flavors": flavors, "teams": teams}, (), tables)

    return view.show(opts, shown)


def _flavors(flavors: Sequence[FlavorTotal], wide: bool) -> Table:
    rows = [
        (
            usage.flavor,
            usage.resource,
            bar(usage.used, usage.nominal),
            *(quantities.format(usage.resource, amount) for amount in (usage.used, usage.nominal)),
            str(usage.workloads),
        )
        for usage in flavors
        if wide or (usage.nominal or usage.used)
    ]
    return Table("Flavors", ("FLAVOR", "RESOURCE", "USE", "USED", "QUOTA", "WORKLOADS"), rows, numbers=3)


def _teams(teams: Sequence[TeamUsage], now_ms: int, wide: bool) -> Table:
    rows = [
        (
            team.namespace,
            str(team.running),
            str(team.waiting),
            size(team.used, wide),
            size(team.demand, wide),
            "" if team.oldest_ms is None else ago((now_ms - team.oldest_ms) / 1000),
        )
        for team in teams
    ]
    titles = ("TEAM", "RUNNING", "WAITING", "USED", "DEMAND", "LONGEST WAIT")
    return Table("Teams", titles, rows, numbers=6)


def bar(used: int, quota: int) -> str:
    """Returns the share of a quota that is used, as a bar and in percent."""
    if not quota:
        return "" if not used else "beyond quota"
    filled = min(BAR, round(BAR * used / quota))
    return f"{'█' * filled}{'░' * (BAR - filled)} {used / quota:.0%}"
