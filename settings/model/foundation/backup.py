"""Backups of a cluster by Backup for GKE."""

from typing import Annotated

from pydantic import Field

from settings.model.base import DnsLabel, Model
from settings.model.google_cloud import KmsKey


class Backup(Model):
    """A backup plan of the cluster (Backup for GKE API: BackupPlan)."""

    rpo_minutes: Annotated[int, Field(ge=60, le=86400)] = 1440
    """The most minutes between two backups (RpoConfig.targetRpoMinutes)."""
    retain_days: Annotated[int, Field(ge=1, le=365)] = 30
    """Age in days at which a backup is deleted (RetentionPolicy.backupRetainDays)."""
    delete_lock_days: Annotated[int, Field(ge=0, le=90)] = 0
    """Age in days before which a backup cannot be deleted (RetentionPolicy.backupDeleteLockDays)."""
    namespaces: tuple[DnsLabel, ...] = ()
    """Namespaces that are backed up (none: all)."""
    volumes: bool = True
    """Backs up the data of volumes too (BackupConfig.includeVolumeData)."""
    secrets: bool = False
    """Backs up Secrets too (BackupConfig.includeSecrets)."""
    kms_key: KmsKey | None = None
    """The KMS key, in the cluster's region, that encrypts backups; volumes with a key of their own are backed
    up with it (BackupConfig.encryptionKey)."""
