"""Rules of backups (Backup for GKE API, v1: RetentionPolicy; discovery document of 2026)."""

import difflib
from collections.abc import Iterator
from math import ceil

from settings.model.foundation.cluster import Gke
from settings.model.stack import Settings
from settings.problems import Doubt, Finding, Path
from settings.rules.registry import doubt, rule

PATH: Path = ("muster:cluster", "backup")
MOST_BACKUPS = 360
DAY_MINUTES = 24 * 60


@rule("cluster")
def backups_are_kept_as_google_allows(settings: Settings) -> Iterator[Finding]:
    """Backups are retained until the next one exists and at least as long as their deletion is locked, and
    for at most 360 times the time between two (Backup for GKE API: RetentionPolicy.backupRetainDays)."""
    backup = settings.cluster.backup if isinstance(settings.cluster, Gke) else None
    if backup is None:
        return
    if backup.retain_days < backup.delete_lock_days:
        yield Finding(
            (*PATH, "retainDays"),
            f"at least {backup.delete_lock_days}, the days of deleteLockDays (Backup for GKE: "
            "RetentionPolicy)",
            "raise it, or lower `deleteLockDays`",
        )
    if backup.retain_days * DAY_MINUTES < backup.rpo_minutes:
        yield Finding(
            (*PATH, "retainDays"),
            f"at least {ceil(backup.rpo_minutes / DAY_MINUTES)}, the time of rpoMinutes: otherwise a backup "
            "is deleted before the next one exists",
            "raise it, or lower `rpoMinutes`",
        )
    most = MOST_BACKUPS * backup.rpo_minutes // DAY_MINUTES
    if backup.retain_days > most:
        yield Finding(
            (*PATH, "retainDays"),
            f"at most {most}, {MOST_BACKUPS} times rpoMinutes (Backup for GKE: RetentionPolicy)",
            "lower it, or raise `rpoMinutes`",
        )


@doubt("cluster", "tenants")
def namespaces_of_backups_may_be_misspelt(settings: Settings) -> Iterator[Doubt]:
    """A namespace that is similar to a tenant's is probably misspelt: backups would have none of the tenant's
    objects (Backup for GKE API: BackupConfig.selectedNamespaces)."""
    backup = settings.cluster.backup if isinstance(settings.cluster, Gke) else None
    names = [tenant.namespace for tenant in settings.tenants]
    for i, name in enumerate(backup.namespaces if backup else ()):
        similar = difflib.get_close_matches(name, names, n=1)
        if name not in names and similar:
            yield Doubt(
                (*PATH, "namespaces", i),
                f"no tenant has this namespace; did you mean {similar[0]}?",
                "Backup for GKE: BackupConfig",
            )
