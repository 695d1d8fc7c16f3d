"""GKE's ComputeClasses of pools whose nodes GKE creates by itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.base import Component
from settings.model.pools.pool import Pool

API_VERSION = "cloud.google.com/v1"
DRIVER_VERSIONS = {"default": "default", "latest": "latest", "disabled": "autoinstall-disabled"}


@dataclass(frozen=True)
class ComputeClassesArgs:
    """`service_account`: of the nodes of pools that name none."""

    pools: Sequence[Pool]
    service_account: pulumi.Input[str]


class ComputeClasses(Component):
    """A ComputeClass for each pool that has one, under the pool's name."""

    def __init__(
        self, name: str, args: ComputeClassesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("ComputeClasses", name, opts)
        names = [self._declare(pool, args) for pool in args.pools if pool.compute_class]
        self.register_outputs({"names": names})

    def _declare(self, pool: Pool, args: ComputeClassesArgs) -> str:
        CustomResource(
            self.named(pool.name),
            api_version=API_VERSION,
            kind="ComputeClass",
            metadata=ObjectMetaArgs(name=pool.name),
            spec=compute_class(pool, pool.service_account or args.service_account),
            opts=self.child(),
        )
        return pool.name


def compute_class(pool: Pool, service_account: pulumi.Input[str]) -> dict[str, Any]:
    """Returns a ComputeClass's spec (compute-class-api, api/cloud.google.com/v1/types.go)."""
    nodes: dict[str, Any] = {"serviceAccount": service_account}
    if pool.declared_labels:
        nodes["nodeLabels"] = pool.declared_labels
    if pool.image_streaming is not None:
        nodes["imageStreaming"] = {"enabled": pool.image_streaming}
    return {
        "priorities": [_priority(variant) for variant in pool.variants],
        "nodePoolAutoCreation": {
            "enabled": True,
            "shieldedInstanceConfig": {"enableSecureBoot": pool.secure_boot},
        },
        "nodePoolConfig": nodes,
        # Nodes of any other kind would not have what the flavor's quotas count on.
        "whenUnsatisfiable": "DoNotScaleUp",
        # Migration to nodes of a higher priority would end gangs.
        "activeMigration": {"optimizeRulePriority": False},
    }


def _priority(pool: Pool) -> dict[str, Any]:
    fields = {
        "machineType": pool.machine_type,
        "gpu": _gpu(pool),
        "tpu": _tpu(pool),
        "spot": pool.provisioning == "spot",
        "flexStart": {"enabled": True} if pool.provisioning == "flex-start" else None,
        "reservations": _reservations(pool.reservation) if pool.reservation else None,
        "location": {"zones": list(pool.zones)} if pool.zones else None,
        "maxRunDurationSeconds": pool.max_run_seconds,
        "maxPodsPerNode": pool.max_pods_per_node,
        "storage": _storage(pool),
    }
    return {key: value for key, value in fields.items() if value}


def _gpu(pool: Pool) -> dict[str, Any] | None:
    if not pool.gpu:
        return None
    driver = DRIVER_VERSIONS[pool.gpu.driver]
    return {"type": pool.gpu.type, "count": pool.gpu.count, "driverVersion": driver}


def _tpu(pool: Pool) -> dict[str, Any] | None:
    if not pool.tpu:
        return None
    return {
        "type": pool.machine.tpu_type,
        "count": pool.machine.tpu_chips,
        "topology": pool.tpu.topology,
    }


def _reservations(path: str) -> dict[str, Any]:
    """Returns how a reservation is named: [projects/PROJECT/reservations/]NAME[/reservationBlocks/BLOCK]."""
    whole, _, block = path.partition("/reservationBlocks/")
    project, _, name = whole.removeprefix("projects/").rpartition("/reservations/")
    specific: dict[str, Any] = {"name": name}
    if project:
        specific["project"] = project
    if block:
        specific["reservationBlock"] = {"name": block}
    return {"affinity": "Specific", "specific": [specific]}


def _storage(pool: Pool) -> dict[str, Any]:
    fields = {
        "bootDiskType": pool.boot_disk.type,
        "bootDiskSize": pool.boot_disk.size_gb,
        "localSSDCount": pool.local_ssd_count or None,
    }
    return {key: value for key, value in fields.items() if value}
