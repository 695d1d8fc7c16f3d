"""What is observed, in the settings: with limits that Google Cloud has, and only where it can be."""

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
        "true: muster:observability reads what managed Prometheus scrapes",
        "remove the line, or remove muster:observability",
    ),
    Case(
        "no logs of workloads",
        observing({}, **cluster(logs=["apiserver"])),
        "muster:cluster.logs",
        '["apiserver"]',
        "workloads among them: muster:observability keeps the logs of Ray's pods",
        "add workloads, or remove muster:observability",
    ),
    Case(
        "an archive that forgets first",
        observing({"logs": {"searchableDays": 90, "archiveDays": 30}}),
        "muster:observability.logs",
        '{"searchableDays": 90, "archiveDays": 30}',
        "archiveDays of at least searchableDays",
        "raise the one, lower the other, or write null",
    ),
    Case(
        "logs for longer than they can be kept",
        observing({"logs": {"searchableDays": 4000, "archiveDays": None}}),
        "muster:observability.logs.searchableDays",
        "4000",
        "3650 or less",
        "lower it",
    ),
    Case(
        "an alert that watches for longer than it can",
        observing({"alerts": {"overQuotaMinutes": 1440}}),
        "muster:observability.alerts.overQuotaMinutes",
        "1440",
        "1410 or less",
        "lower it",
    ),
    Case(
        "an address that is none",
        observing({"notify": {"emails": ["ml-platform"]}}),
        "muster:observability.notify.emails[0]",
        '"ml-platform"',
        "an e-mail address",
        "write it whole, as in ml-platform@example.com",
    ),
    Case(
        "a channel by its number",
        observing({"notify": {"channels": ["12345"]}}),
        "muster:observability.notify.channels[0]",
        '"12345"',
        "a notification channel's full name: projects/…/notificationChannels/…",
        "copy it from `gcloud beta monitoring channels list`",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_cannot_be_observed_is_refused(case: Case) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(case.config, FILE)
    assert str(refused.value) == case.message


def test_nothing_is_observed_unless_asked_for() -> None:
    assert parse(GOOD, FILE).observability is None
    assert parse(put("muster:observability", {}), FILE).observability is not None
