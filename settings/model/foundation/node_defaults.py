"""Settings of a cluster that its pools inherit."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from settings.model.pools.pool import Pool


@dataclass(frozen=True, slots=True)
class NodeDefaults:
    """The cluster's key of boot disks, and the tags of all nodes; empty for a cluster created elsewhere."""

    boot_disk_kms_key: str | None = None
    resource_manager_tags: Mapping[str, str] = field(default_factory=dict)

    def key_of(self, pool: Pool) -> str | None:
        """Returns the key that encrypts the pool's boot disks; None for Google's."""
        return pool.boot_disk.kms_key or self.boot_disk_kms_key

    def tags_of(self, pool: Pool) -> dict[str, str]:
        """Returns all tags of the pool's nodes; a key of the pool replaces the cluster's."""
        return {**self.resource_manager_tags, **pool.resource_manager_tags}
