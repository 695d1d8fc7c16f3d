"""Settings of observability: log retention, metric scraping, and alerts and their recipients."""

import re
from typing import Annotated, Self

from pydantic import Field, model_validator
from typing_extensions import Doc

from settings.model.base import Model, matching, refuse

# Namespaces of the collectors of Google's managed Prometheus, on older and on current GKE clusters.
COLLECTOR_NAMESPACES = ("gmp-system", "gke-gmp-system")

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
CHANNEL = re.compile(r"projects/[a-z][-a-z0-9:.]*/notificationChannels/[0-9]+")

EmailAddress = Annotated[
    str,
    matching(EMAIL, "an e-mail address", "write the full address, such as ml-platform@example.com"),
    Doc("e-mail address"),
]

NotificationChannel = Annotated[
    str,
    matching(
        CHANNEL,
        "the full name of a notification channel: projects/…/notificationChannels/…",
        "copy it from `gcloud beta monitoring channels list`",
    ),
    Doc("channel's full name"),
]


Days = Annotated[int, Field(ge=1, le=3650)]  # Cloud Logging, retentionDays
Minutes = Annotated[int, Field(ge=1)]
Lasting = Annotated[
    int, Field(ge=1, le=1410)
]  # minutes: a condition is watched for 23.5 h (Cloud Monitoring)
Percent = Annotated[int, Field(ge=1, le=99)]


class Logs(Model):
    """Retention of the logs of Ray and its operators and of jobs' events; logs outlive the cluster."""

    searchable_days: Days = 90
    """Days in a log bucket of Cloud Logging, where logs can be searched."""
    archive_days: Days | None = 400
    """Days in a Cloud Storage bucket, whose retention policy prevents earlier deletion; null: no archive."""

    @model_validator(mode="after")
    def _archive_is_longer(self) -> Self:
        if self.archive_days is not None and self.archive_days < self.searchable_days:
            refuse(
                "archiveDays of at least searchableDays",
                "raise archiveDays, lower searchableDays, or write null",
            )
        return self


class Alerts(Model):
    """Thresholds of the alerts."""

    queue_wait_minutes: Minutes = 60
    """Alerts if an admissible workload has waited in its queue for this long."""
    provisioning_minutes: Minutes = 120
    """Alerts if a ProvisioningRequest has been pending for this long."""
    over_quota_minutes: Lasting = 12 * 60
    """Alerts if a queue has borrowed quota for this long; its own quota may be too small."""
    idle_gpu_minutes: Lasting = 60
    """Alerts if a container has held GPUs without using them for this long."""
    idle_gpu_percent: Percent = 5
    """GPU utilization below which a GPU counts as unused."""


class Notify(Model):
    """Recipients of alerts. Create channels that need secrets (chat, paging) outside the stack, and list them
    here."""

    emails: tuple[EmailAddress, ...] = ()
    """Addresses; the stack creates a notification channel for each."""
    channels: tuple[NotificationChannel, ...] = ()
    """Existing notification channels, by full name (projects/…/notificationChannels/…)."""


class Observability(Model):
    """Logs, metrics, dashboards and alerts in Cloud Logging, Cloud Storage and Cloud Monitoring; GKE only."""

    logs: Logs = Logs()
    """Retention of logs."""
    scrape_seconds: Annotated[int, Field(ge=5, le=300)] = 30
    """Scrape interval of managed Prometheus."""
    alerts: Alerts = Alerts()
    """Thresholds of the alerts."""
    notify: Notify = Notify()
    """Recipients of alerts; if empty, alerts are visible in Cloud Monitoring only."""
