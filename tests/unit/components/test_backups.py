"""Backup plans of a cluster."""

from typing import Any

import pytest

from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import GOOD

DAILY = {
    "name": "ray-backup-550b9d",
    "project": "acme-ml",
    "location": "us-west1",
    "cluster": "ray-id",
    "labels": {"team": "ml"},
    "backupConfig": {"allNamespaces": True, "includeSecrets": False, "includeVolumeData": True},
    "backupSchedule": {"rpoConfig": {"targetRpoMinutes": 1440}},
    "retentionPolicy": {"backupRetainDays": 30, "backupDeleteLockDays": 0},
    "deletionPolicy": "PREVENT",
}


def backed_up(**backup: Any) -> Declarations:
    cluster = {**GOOD["muster:cluster"], "labels": {"team": "ml"}, "backup": backup}
    return declare_platform({**GOOD, "muster:cluster": cluster})


def test_cluster_is_backed_up_daily() -> None:
    declared = backed_up()

    assert declared.inputs("BackupPlan/backup") == DAILY
    assert declared["BackupPlan/backup"].protect
    assert declared.inputs("Cluster/ray")["addonsConfig"]["gkeBackupAgentConfig"] == {"enabled": True}


@pytest.mark.parametrize(
    ("backup", "changed"),
    [
        ({"rpoMinutes": 60, "retainDays": 15}, {"backupSchedule": {"rpoConfig": {"targetRpoMinutes": 60}}}),
        ({"deleteLockDays": 7}, {"retentionPolicy": {"backupRetainDays": 30, "backupDeleteLockDays": 7}}),
        (
            {"namespaces": ["team-a"], "secrets": True, "volumes": False},
            {
                "backupConfig": {
                    "selectedNamespaces": {"namespaces": ["team-a"]},
                    "includeSecrets": True,
                    "includeVolumeData": False,
                }
            },
        ),
    ],
    ids=["hourly", "locked", "a namespace"],
)
def test_settings_change_the_plan(backup: dict[str, Any], changed: dict[str, Any]) -> None:
    plan = backed_up(**backup).inputs("BackupPlan/backup")
    assert {key: plan[key] for key in changed} == changed


def test_no_plan_without_the_setting() -> None:
    assert not declare_platform(GOOD).kinds("BackupPlan")
