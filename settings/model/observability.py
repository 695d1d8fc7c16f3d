"""What is kept of logs, what is scraped, and who is told when something is wrong."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from typing_extensions import Doc

from settings.model.base import Model, refuse

# Namespaces in which Google's managed Prometheus runs its collectors: before, and on current GKE clusters.
COLLECTOR_NAMESPACES = ("gmp-system", "gke-gmp-system")

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
CHANNEL = re.compile(r"projects/[a-z][-a-z0-9:.]*/notificationChannels/[0-9]+")


def _email(address: str) -> str:
    if not EMAIL.fullmatch(address):
        refuse("an e-mail address", "write it whole, as in ml-platform@example.com")
    return address


def _channel(name: str) -> str:
    if not CHANNEL.fullmatch(name):
        refuse(
            "a notification channel's full name: projects/…/notificationChannels/…",
            "copy it from `gcloud beta monitoring channels list`",
        )
    return name


Days = Annotated[int, Field(ge=1, le=3650)]  # Cloud Logging, retentionDays
Minutes = Annotated[int, Field(ge=1)]
Lasting = Annotated[
    int, Field(ge=1, le=1410)
]  # minutes: a condition is watched for 23.5 h (Cloud Monitoring)
Percent = Annotated[int, Field(ge=1, le=99)]


class Logs(Model):
    """Logs of Ray and its operators, and events that say what became of jobs; they outlive the cluster."""

    searchable_days: Days = 90
    """How long they stay in a log bucket of Cloud Logging, where they can be searched."""
    archive_days: Days | None = 400
    """How long they are kept in a Cloud Storage bucket, and not deleted sooner; null: no archive."""

    @model_validator(mode="after")
    def _archive_is_longer(self) -> Self:
        if self.archive_days is not None and self.archive_days < self.searchable_days:
            refuse("archiveDays of at least searchableDays", "raise the one, lower the other, or write null")
        return self


class Alerts(Model):
    """When to tell somebody."""

    queue_wait_minutes: Minutes = 60
    """An admissible workload has stood in its queue for so long."""
    provisioning_minutes: Minutes = 120
    """Capacity was asked for so long ago and is not there."""
    over_quota_minutes: Lasting = 12 * 60
    """A queue has held more than its own quota for so long: perhaps it is due for more."""
    idle_gpu_minutes: Lasting = 60
    """A container has held GPUs for so long and hardly used them."""
    idle_gpu_percent: Percent = 5
    """Less use than this is hardly any."""


class Notify(Model):
    """Who is told. Channels with secrets (chat, paging) are made outside of the stack, and named here."""

    emails: tuple[Annotated[str, AfterValidator(_email), Doc("e-mail address")], ...] = ()
    """A notification channel is made for each."""
    channels: tuple[Annotated[str, AfterValidator(_channel), Doc("channel's full name")], ...] = ()
    """By their full names, projects/…/notificationChannels/…."""


class Observability(Model):
    """Everything of it is in Cloud Logging, Cloud Storage and Cloud Monitoring: it needs a GKE cluster."""

    logs: Logs = Logs()
    """What is kept, and for how long."""
    scrape_seconds: Annotated[int, Field(ge=5, le=300)] = 30
    """How often managed Prometheus asks for metrics."""
    alerts: Alerts = Alerts()
    """What counts as wrong."""
    notify: Notify = Notify()
    """Nobody unless given: alerts are then seen in Cloud Monitoring only."""
