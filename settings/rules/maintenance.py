"""Rules of maintenance windows and exclusions (GKE, "Maintenance windows and exclusions")."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from settings.facts.tables import table
from settings.model.foundation.cluster import Gke
from settings.model.foundation.maintenance import INSTANT, LEAST_HOURS, ROLLING_DAYS, Exclusion
from settings.model.stack import Settings
from settings.problems import Doubt, Finding, Path
from settings.rules.names import unique
from settings.rules.registry import doubt, rule

MOST_EXCLUSIONS = 20
MOST_FREEZES = 3
LONGEST_FREEZE = timedelta(days=90)
SOURCE = "(GKE, maintenance windows and exclusions)"


@rule("cluster")
def maintenance_has_enough_time(settings: Settings) -> Iterator[Finding]:
    """A maintenance window is open for 48 hours in any 32 days (GKE, "Maintenance windows and
    exclusions")."""
    maintenance = settings.cluster.maintenance if isinstance(settings.cluster, Gke) else None
    if maintenance and maintenance.window.least_hours < LEAST_HOURS:
        yield Finding(
            ("muster:cluster", "maintenance", "window"),
            f"at least {LEAST_HOURS} hours in any {ROLLING_DAYS} days; this window has "
            f"{maintenance.window.least_hours} {SOURCE}",
            "add days, or raise `hours`",
        )


@rule("cluster")
def exclusions_are_within_limits(settings: Settings) -> Iterator[Finding]:
    """Exclusions have unique names, are at most 20, and at most 3 of 90 days exclude all upgrades (GKE,
    "Maintenance windows and exclusions")."""
    maintenance = settings.cluster.maintenance if isinstance(settings.cluster, Gke) else None
    if maintenance is None:
        return
    exclusions, path = maintenance.exclusions, ("muster:cluster", "maintenance", "exclusions")
    yield from unique(
        (((*path, i, "name"), exclusion.name) for i, exclusion in enumerate(exclusions)), "name"
    )
    if len(exclusions) > MOST_EXCLUSIONS:
        yield Finding(path, f"at most {MOST_EXCLUSIONS} exclusions {SOURCE}", "remove some")
    freezes = [i for i, exclusion in enumerate(exclusions) if exclusion.scope == "no-upgrades"]
    if len(freezes) > MOST_FREEZES:
        yield Finding(
            (*path, freezes[MOST_FREEZES], "scope"),
            f"at most {MOST_FREEZES} exclusions with no-upgrades {SOURCE}",
            "write no-minor-upgrades or no-minor-or-node-upgrades, or remove some",
        )
    for i, exclusion in enumerate(exclusions):
        yield from _length(exclusion, (*path, i))


def _length(exclusion: Exclusion, path: Path) -> Iterator[Finding]:
    freeze = exclusion.scope == "no-upgrades"
    if exclusion.end is None:
        if freeze:
            yield Finding(
                (*path, "end"),
                f"a time: an exclusion with no-upgrades cannot last until the end of support {SOURCE}",
                "add `end`, or choose another scope",
            )
        return
    length = datetime.strptime(exclusion.end, INSTANT) - datetime.strptime(exclusion.start, INSTANT)
    if length <= timedelta():
        yield Finding((*path, "end"), f"a time after {exclusion.start}", "choose a later one")
    elif freeze and length > LONGEST_FREEZE:
        yield Finding(
            (*path, "end"),
            f"at most {LONGEST_FREEZE.days} days of no-upgrades; this exclusion has {length.days} {SOURCE}",
            "choose an earlier one, or another scope",
        )


@doubt("cluster")
def exclusions_may_be_over(settings: Settings) -> Iterator[Doubt]:
    """An exclusion ends after the day of the newest facts in this package, and so after its deployment (GKE,
    "Maintenance windows and exclusions")."""
    maintenance = settings.cluster.maintenance if isinstance(settings.cluster, Gke) else None
    written = table("channels").date
    for i, exclusion in enumerate(maintenance.exclusions if maintenance else ()):
        if exclusion.end and datetime.strptime(exclusion.end, INSTANT).date() < written:
            yield Doubt(
                ("muster:cluster", "maintenance", "exclusions", i, "end"),
                f"the exclusion ended before {written}, so it excludes nothing; GKE may refuse it",
                "GKE, Maintenance windows and exclusions",
            )
