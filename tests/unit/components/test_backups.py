"""Backup plans of a cluster."""

from typing import Any

import pytest

from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import GOOD

DAILY: dict[str, Any] = {
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
KEY = "projects/{}/locations/us-west1/keyRings/ray/cryptoKeys/backups"


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
        (
            {"kmsKey": KEY.format("acme-keys")},
            {
                "backupConfig": {
                    **DAILY["backupConfig"],
                    "encryptionKey": {"gcpKmsEncryptionKey": KEY.format("acme-keys")},
                }
            },
        ),
    ],
    ids=["hourly", "locked", "a namespace", "encrypted"],
)
def test_settings_change_the_plan(backup: dict[str, Any], changed: dict[str, Any]) -> None:
    plan = backed_up(**backup).inputs("BackupPlan/backup")
    assert {key: plan[key] for key in changed} == changed


def test_agents_may_use_the_key_before_the_first_backup() -> None:
    declared = backed_up(kmsKey=KEY.format("acme-ml"))
    grants = [declared.inputs(name) for name in declared.kinds("CryptoKeyIAMMember")]

    assert sorted(grants, key=lambda grant: str(grant["member"])) == [
        {
            "cryptoKeyId": KEY.format("acme-ml"),
            "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter",
            "member": f"serviceAccount:service-1@{domain}.iam.gserviceaccount.com",
        }
        for domain in ("container-engine-robot", "gcp-sa-gkebackup")
    ]
    assert declared["BackupPlan/backup"].depends_on >= set(declared.kinds("CryptoKeyIAMMember"))


def test_access_to_another_projects_key_is_not_granted() -> None:
    declared = backed_up(kmsKey=KEY.format("acme-keys"))

    assert not declared.kinds("CryptoKeyIAMMember", "ServiceIdentity")


def test_no_plan_without_the_setting() -> None:
    assert not declare_platform(GOOD).kinds("BackupPlan")
