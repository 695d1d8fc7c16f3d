"""Settings of observability: their limits, and what they require of the cluster."""

from typing import Any

import pytest

from settings.load import SettingsError, parse
from tests.unit.settings.builders import EXISTING, FILE, GOOD, Case, put


def observing(settings: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**GOOD, "muster:observability": settings, **more}


def cluster(**changed: Any) -> dict[str, Any]:
    return {"muster:cluster": {**GOOD["muster:cluster"], **changed}}


CASES = [
    Case(
        "an existing cluster",
        observing({}, **{"muster:cluster": EXISTING}),
        "muster:observability",
        "{}",
        "a GKE cluster: logs, metrics and alerts go to Google Cloud",
        "remove it; the controller serves /metrics for a Prometheus of your own",
    ),
    Case(
        "no managed Prometheus",
        observing({}, **cluster(managedPrometheus=False)),
        "muster:cluster.managedPrometheus",
        "false",
        "true: muster:observability requires the metrics of managed Prometheus",
        "remove the line, or remove muster:observability",
    ),
    Case(
        "no logs of workloads",
        observing({}, **cluster(logs=["apiserver"])),
        "muster:cluster.logs",
        '["apiserver"]',
        "a list with workloads: muster:observability keeps the logs of Ray's pods",
        "add workloads, or remove muster:observability",
    ),
    Case(
        "an archive shorter than the log bucket",
        observing({"logs": {"searchableDays": 90, "archiveDays": 30}}),
        "muster:observability.logs",
        '{"searchableDays": 90, "archiveDays": 30}',
        "archiveDays of at least searchableDays",
        "raise archiveDays, lower searchableDays, or write null",
    ),
    Case(
        "logs for more days than Cloud Logging keeps",
        observing({"logs": {"searchableDays": 4000, "archiveDays": None}}),
        "muster:observability.logs.searchableDays",
        "4000",
        "3650 or less",
        "lower it",
    ),
    Case(
        "an alert over more time than Cloud Monitoring allows",
        observing({"alerts": {"overQuotaMinutes": 1440}}),
        "muster:observability.alerts.overQuotaMinutes",
        "1440",
        "1410 or less",
        "lower it",
    ),
    Case(
        "an invalid address",
        observing({"notify": {"emails": ["ml-platform"]}}),
        "muster:observability.notify.emails[0]",
        '"ml-platform"',
        "an e-mail address",
        "write the full address, such as ml-platform@example.com",
    ),
    Case(
        "a channel by its number",
        observing({"notify": {"channels": ["12345"]}}),
        "muster:observability.notify.channels[0]",
        '"12345"',
        "the full name of a notification channel: projects/…/notificationChannels/…",
        "copy it from `gcloud beta monitoring channels list`",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_invalid_observability_is_refused(case: Case) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(case.config, FILE)
    assert str(refused.value) == case.message


def test_observability_is_off_by_default() -> None:
    assert parse(GOOD, FILE).observability is None
    assert parse(put("muster:observability", {}), FILE).observability is not None
