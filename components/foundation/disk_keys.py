"""Access of Compute Engine to the keys that encrypt boot disks."""

from collections.abc import Iterable
from dataclasses import dataclass

import pulumi

from components.base import Component
from components.foundation.key_access import grantable, let_encrypt
from components.foundation.service_agents import project_number, service_agent
from settings.model.foundation.node_defaults import NodeDefaults
from settings.model.pools.pool import Pool


@dataclass(frozen=True)
class DiskKeysArgs:
    """`keys` of Cloud KMS, all of the project."""

    keys: tuple[str, ...]
    project: str


class DiskKeys(Component):
    """Lets Compute Engine's service agent use the keys, without which no node starts (GKE, "Use
    customer-managed encryption keys")."""

    def __init__(self, name: str, args: DiskKeysArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("DiskKeys", name, opts)
        agent = service_agent(self, "gke-of-disks", args.project)
        for index, key in enumerate(args.keys):
            let_encrypt(self, f"boot-disks-{index}", key, agent.email.apply(_compute_engine))
        self.register_outputs({"keys": list(args.keys)})


def disk_keys(
    pools: Iterable[Pool], defaults: NodeDefaults, project: str, opts: pulumi.ResourceOptions
) -> list[DiskKeys]:
    """Declares access to the keys of boot disks that belong to the project; returns nothing if none does. For
    other keys, their owner grants access."""
    keys = {defaults.boot_disk_kms_key, *(pool.boot_disk.kms_key for pool in pools if not pool.existing)}
    own = tuple(sorted(key for key in keys if grantable(key, project)))
    return [DiskKeys("disk-keys", DiskKeysArgs(own, project), opts)] if own else []


def _compute_engine(agent: str) -> str:
    """Returns the project's service agent of Compute Engine."""
    return f"serviceAccount:service-{project_number(agent)}@compute-system.iam.gserviceaccount.com"
