"""The backup plan of a cluster (Backup for GKE)."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp
from pulumi_gcp.gkebackup import (
    BackupPlanBackupConfigArgs,
    BackupPlanBackupConfigEncryptionKeyArgs,
    BackupPlanBackupConfigSelectedNamespacesArgs,
    BackupPlanBackupScheduleArgs,
    BackupPlanBackupScheduleRpoConfigArgs,
    BackupPlanRetentionPolicyArgs,
)

from components.base import Component
from components.foundation.google_cloud import GoogleCloud
from components.foundation.key_access import grantable, let_encrypt
from components.foundation.service_agents import service_agent
from settings.model.foundation.backup import Backup


@dataclass(frozen=True)
class BackupsArgs:
    """`cluster_id` is the cluster's path in GKE's API."""

    backup: Backup
    cluster_id: pulumi.Input[str]
    google: GoogleCloud


class Backups(Component):
    """A plan by which Backup for GKE backs up the cluster's objects and volumes."""

    def __init__(self, name: str, args: BackupsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Backups", name, opts)
        google, key = args.google, args.backup.kms_key
        access = self._key_access(key, google.project)
        protected = google.cluster.protected
        plan = gcp.gkebackup.BackupPlan(
            self.named("backup"),
            name=google.cluster.unique("backup"),
            project=google.project,
            location=google.region,
            cluster=args.cluster_id,
            labels=dict(google.labels),
            backup_config=_content(args.backup),
            backup_schedule=BackupPlanBackupScheduleArgs(
                rpo_config=BackupPlanBackupScheduleRpoConfigArgs(target_rpo_minutes=args.backup.rpo_minutes)
            ),
            retention_policy=BackupPlanRetentionPolicyArgs(
                backup_retain_days=args.backup.retain_days,
                backup_delete_lock_days=args.backup.delete_lock_days,
            ),
            deletion_policy="PREVENT" if protected else None,
            opts=self.child(protect=protected, depends_on=access),
        )
        self.register_outputs({"name": plan.name})

    def _key_access(self, key: str | None, project: str) -> list[pulumi.Resource]:
        """Lets the cluster's agent of backups, which acts as GKE's service agent, and Backup for GKE use the
        key (Backup for GKE, "CMEK encryption", November 2026)."""
        if not grantable(key, project):
            return []
        access: list[pulumi.Resource] = []
        for name, service in {"backups-by-gke": "container", "backups": "gkebackup"}.items():
            agent = service_agent(self, f"agent-of-{name}", project, service)
            access.append(let_encrypt(self, name, key, agent.member))
        return access


def _content(backup: Backup) -> BackupPlanBackupConfigArgs:
    chosen = BackupPlanBackupConfigSelectedNamespacesArgs(namespaces=list(backup.namespaces))
    return BackupPlanBackupConfigArgs(
        all_namespaces=None if backup.namespaces else True,
        selected_namespaces=chosen if backup.namespaces else None,
        include_volume_data=backup.volumes,
        include_secrets=backup.secrets,
        encryption_key=BackupPlanBackupConfigEncryptionKeyArgs(gcp_kms_encryption_key=backup.kms_key)
        if backup.kms_key
        else None,
    )
