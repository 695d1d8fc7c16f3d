"""Maintenance windows and exclusions: when GKE may upgrade and repair a cluster."""

import re
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from typing_extensions import Doc

from settings.model.base import DnsLabel, Model, matching, refuse

CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
INSTANT = "%Y-%m-%dT%H:%M:%SZ"

Day = Literal["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
WEEK: tuple[Day, ...] = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
# GKE requires this many hours of maintenance in every rolling period of this many days.
ROLLING_DAYS, LEAST_HOURS = 32, 48

TimeOfDay = Annotated[
    str,
    matching(CLOCK, "a time of day in UTC", 'write hours and minutes in quotes, such as "02:00"'),
    Doc("time of day in UTC"),
]


def _instant(text: str) -> str:
    try:
        datetime.strptime(text, INSTANT)
    except ValueError:
        refuse("a time in UTC", 'write it in quotes, such as "2026-12-24T00:00:00Z"')
    return text


Instant = Annotated[str, AfterValidator(_instant), Doc("time in UTC")]


class Window(Model):
    """A recurring window in which maintenance may start."""

    start: TimeOfDay
    """Time of day in UTC, such as "02:00"."""
    hours: Annotated[int, Field(ge=4, le=24)]
    """Length of the window; GKE requires 48 hours of maintenance in any 32 days."""
    days: Annotated[tuple[Day, ...], Field(min_length=1)] = WEEK
    """Days of the week on which the window opens."""

    @property
    def least_hours(self) -> int:
        """The fewest hours of maintenance in 32 days, over every day of the week they may start on."""
        return self.hours * min(
            sum(WEEK[(first + day) % 7] in self.days for day in range(ROLLING_DAYS)) for first in range(7)
        )


class Exclusion(Model):
    """A period without upgrades."""

    name: DnsLabel
    """Name of the exclusion, unique within the cluster."""
    scope: Literal["no-upgrades", "no-minor-upgrades", "no-minor-or-node-upgrades"] = "no-upgrades"
    """Excludes all upgrades (at most 3 such exclusions, of 90 days each), minor upgrades, or minor
    upgrades and all node upgrades."""
    start: Instant
    """Start in UTC, such as "2026-12-24T00:00:00Z"."""
    end: Instant | None = None
    """End in UTC; if unset, the exclusion lasts until the end of support of the cluster's version."""


class Maintenance(Model):
    """GKE's maintenance policy: a window, and exclusions from it."""

    window: Window
    """Times at which maintenance may start."""
    exclusions: tuple[Exclusion, ...] = ()
    """Times at which maintenance may not start; at most 20."""
