"""When GKE may upgrade and repair a cluster by itself, and when it may not."""

import re
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from typing_extensions import Doc

from settings.model.base import DnsLabel, Model, refuse

CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
INSTANT = "%Y-%m-%dT%H:%M:%SZ"

Day = Literal["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
WEEK: tuple[Day, ...] = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
# GKE keeps every 32 days in view, and asks for this much time in them.
ROLLING_DAYS, LEAST_HOURS = 32, 48


def _clock(text: str) -> str:
    if not CLOCK.fullmatch(text):
        refuse("a time of day in UTC", 'write hours and minutes in quotes, such as "02:00"')
    return text


def _instant(text: str) -> str:
    try:
        datetime.strptime(text, INSTANT)
    except ValueError:
        refuse("a time in UTC", 'write it in quotes, such as "2026-12-24T00:00:00Z"')
    return text


Instant = Annotated[str, AfterValidator(_instant), Doc("time in UTC")]


class Window(Model):
    """The hours in which maintenance may begin."""

    start: Annotated[str, AfterValidator(_clock), Doc("time of day in UTC")]
    """The time of day in UTC, such as "02:00"."""
    hours: Annotated[int, Field(ge=4, le=24)]
    """How long it is open each time; GKE asks for 48 hours in any 32 days."""
    days: Annotated[tuple[Day, ...], Field(min_length=1)] = WEEK
    """Those of each week on which it starts."""

    @property
    def least_hours(self) -> int:
        """What is left for maintenance in 32 days, on whichever day of the week these begin."""
        return self.hours * min(
            sum(WEEK[(first + day) % 7] in self.days for day in range(ROLLING_DAYS)) for first in range(7)
        )


class Exclusion(Model):
    """A time without upgrades."""

    name: DnsLabel
    """To tell it from the others."""
    scope: Literal["no-upgrades", "no-minor-upgrades", "no-minor-or-node-upgrades"] = "no-upgrades"
    """What is kept away: everything (3 such at most, 90 days each), minor versions, or minor versions and all
    upgrades of nodes."""
    start: Instant
    """In UTC, such as "2026-12-24T00:00:00Z"."""
    end: Instant | None = None
    """If left out, the exclusion lasts until the support of the cluster's version ends."""


class Maintenance(Model):
    """GKE's maintenance policy; exclusions stand beside a window, which GKE asks for."""

    window: Window
    """When it may begin."""
    exclusions: tuple[Exclusion, ...] = ()
    """When it may not; 20 at most."""
