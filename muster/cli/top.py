"""`muster top`: shows usage by flavor and by team."""

from collections.abc import Sequence

import click

from muster.admission import quantities
from muster.cli import view
from muster.cli.verb import verb
from muster.cli.view import View, ViewOptions, ago, size
from muster.forecast.report.tables import Table
from muster.live.overview.overview import Overview
from muster.live.overview.usage import FlavorUsage, TeamUsage, flavor_usage, team_usage

BAR = 20  # characters


@verb(
    """Shows the usage of each flavor's quota over all ClusterQueues, and the workloads of each team (a
    namespace). Use --watch for a live view."""
)
@click.option("-A", "--all-namespaces", is_flag=True, help="the teams of all namespaces, as without -n")
@view.view_options
def command(all_namespaces: bool, given: ViewOptions) -> int:
    namespace = None if all_namespaces else given.namespace

    def shown(seen: Overview) -> View:
        flavors = flavor_usage(seen)
        teams = tuple(team for team in team_usage(seen) if namespace in (None, team.namespace))
        tables = [_flavors(flavors, given.is_wide), _teams(teams, seen.now_ms, given.is_wide)]
        return View({"flavors": flavors, "teams": teams}, (), tables)

    return view.show(given, shown)


def _flavors(flavors: Sequence[FlavorUsage], wide: bool) -> Table:
    rows = [
        (
            one.flavor,
            one.resource,
            bar(one.used, one.nominal),
            *(quantities.format(one.resource, amount) for amount in (one.used, one.nominal)),
            str(one.workloads),
        )
        for one in flavors
        if wide or (one.nominal or one.used)
    ]
    return Table("Flavors", ("FLAVOR", "RESOURCE", "USE", "USED", "QUOTA", "WORKLOADS"), rows, numbers=3)


def _teams(teams: Sequence[TeamUsage], now_ms: int, wide: bool) -> Table:
    rows = [
        (
            one.namespace,
            str(one.running),
            str(one.waiting),
            size(one.used, wide),
            size(one.demand, wide),
            "" if one.oldest_ms is None else ago((now_ms - one.oldest_ms) / 1000),
        )
        for one in teams
    ]
    titles = ("TEAM", "RUNNING", "WAITING", "USED", "DEMAND", "LONGEST WAIT")
    return Table("Teams", titles, rows, numbers=6)


def bar(used: int, quota: int) -> str:
    """Returns the share of a quota that is used, as a bar and in percent."""
    if not quota:
        return "" if not used else "beyond quota"
    filled = min(BAR, round(BAR * used / quota))
    return f"{'█' * filled}{'░' * (BAR - filled)} {used / quota:.0%}"
