"""GKE's ComputeClasses of pools whose nodes GKE creates by itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.base import Component
from components.foundation import node_system
from components.foundation.node_config import SHARING_STRATEGIES, confidential_type
from settings.model.foundation.node_defaults import NodeDefaults
from settings.model.pools.parts import Consolidation, NodePriority
from settings.model.pools.pool import Pool

API_VERSION = "cloud.google.com/v1"
ANY_RESERVATION = {"best-effort": "AnyBestEffort", "required": "AnyThenFail"}
DRIVER_VERSIONS = {"default": "default", "latest": "latest", "disabled": "autoinstall-disabled"}


@dataclass(frozen=True)
class ComputeClassesArgs:
    """`service_account`, `defaults`: of the nodes of pools that name none."""

    pools: Sequence[Pool]
    service_account: pulumi.Input[str]
    defaults: NodeDefaults


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
            spec=compute_class(pool, pool.service_account or args.service_account, args.defaults),
            opts=self.child(),
        )
        return pool.name


def compute_class(pool: Pool, service_account: pulumi.Input[str], defaults: NodeDefaults) -> dict[str, Any]:
    """Returns a ComputeClass's spec (compute-class-api, api/cloud.google.com/v1/types.go)."""
    assert pool.compute_class, "only pools with one are declared"
    ways = zip(pool.compute_class.priorities, pool.variants, strict=True)
    spec = {
        "priorities": [_priority(way, variant, defaults.key_of(pool)) for way, variant in ways],
        "nodePoolAutoCreation": {
            "enabled": True,
            "shieldedInstanceConfig": {"enableSecureBoot": pool.secure_boot},
        },
        "nodePoolConfig": {"serviceAccount": service_account, **_nodes(pool, defaults)},
        # Nodes of any other kind would not have what the flavor's quotas count on.
        "whenUnsatisfiable": "DoNotScaleUp",
        # Migration to nodes of a higher priority would end gangs.
        "activeMigration": {"optimizeRulePriority": False},
        "autoscalingPolicy": _consolidation(pool.compute_class.consolidation),
        "minimumCapacity": {"targetNodeCount": pool.nodes.min} if pool.nodes and pool.nodes.min else None,
    }
    return {key: value for key, value in spec.items() if value is not None}


def _nodes(pool: Pool, defaults: NodeDefaults) -> dict[str, Any]:
    """Returns the configuration of all nodes of the class, without their service account."""
    tags = [{"key": key, "value": value} for key, value in defaults.tags_of(pool).items()]
    fields = {
        "nodeLabels": pool.declared_labels,
        "confidentialNodeType": confidential_type(pool),
        "resourceManagerTags": tags,
        "maintenanceExclusion": "UNTIL_END_OF_SUPPORT" if pool.maintenance_exclusion else None,
    }
    nodes: dict[str, Any] = {key: value for key, value in fields.items() if value}
    if pool.image_streaming is not None or pool.image_streamed:
        nodes["imageStreaming"] = {"enabled": pool.image_streamed}
    if pool.dranet:
        nodes |= {"dra": {"networking": {"enabled": True}}, "gvnic": {"enabled": True}}
    return nodes


def _consolidation(settings: Consolidation | None) -> dict[str, int] | None:
    if settings is None:
        return None
    fields = {
        "consolidationDelayMinutes": settings.delay_minutes,
        "consolidationThreshold": settings.threshold_percent,
        "gpuConsolidationThreshold": settings.gpu_threshold_percent,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _priority(way: NodePriority, pool: Pool, disk_key: str | None) -> dict[str, Any]:
    """Returns a priority: `pool` is as it would be with this way to get its nodes."""
    fields = {
        "machineType": pool.machine_type,
        "gpu": _gpu(pool),
        "tpu": _tpu(pool),
        "spot": pool.provisioning == "spot",
        "flexStart": _flex_start(way) if pool.provisioning == "flex-start" else None,
        "capacityCheckWaitTimeSeconds": way.capacity_check_wait_seconds,
        "reservations": _reservations(way, pool),
        "location": {"zones": list(pool.zones)} if pool.zones and not pool.reservation else None,
        "placement": {"policyName": way.placement_policy} if way.placement_policy else None,
        "acceleratorNetworkProfile": "auto" if pool.dranet else None,
        "gpuDirect": pool.gpudirect,
        "maxRunDurationSeconds": pool.max_run_seconds,
        "maxPodsPerNode": pool.max_pods_per_node,
        "nodeSystemConfig": node_system.of_class(pool),
        "storage": _storage(pool, disk_key),
    }
    return {key: value for key, value in fields.items() if value}


def _gpu(pool: Pool) -> dict[str, Any] | None:
    if not pool.gpu:
        return None
    driver, sharing = DRIVER_VERSIONS[pool.gpu.driver], pool.gpu.sharing
    gpu = {"type": pool.gpu.type, "count": pool.gpu.count, "driverVersion": driver}
    shared = {
        "gpuPartitionSize": pool.gpu.partition,
        "sharingStrategy": SHARING_STRATEGIES[sharing.strategy] if sharing else None,
        "maxSharedClientsPerGPU": sharing.max_clients if sharing else None,
    }
    shared = {key: value for key, value in shared.items() if value is not None}
    return {**gpu, "gpuSharing": shared} if shared else gpu


def _flex_start(way: NodePriority) -> dict[str, Any]:
    recycling = {"leadTimeSeconds": way.recycle_lead_seconds}
    return {"enabled": True, **({"nodeRecycling": recycling} if way.recycle_lead_seconds else {})}


def _tpu(pool: Pool) -> dict[str, Any] | None:
    if not pool.tpu:
        return None
    return {
        "type": pool.machine.tpu_type,
        "count": pool.machine.tpu_chips,
        "topology": pool.tpu.topology,
    }


def _reservations(way: NodePriority, pool: Pool) -> dict[str, Any] | None:
    if way.any_reservation:
        return {"affinity": ANY_RESERVATION[way.any_reservation]}
    if not pool.reservation:
        return None
    specific = _reservation(pool.reservation)
    if pool.zones:
        specific["zones"] = list(pool.zones)
    return {"affinity": "Specific", "specific": [specific]}


def _reservation(path: str) -> dict[str, Any]:
    """Returns how a reservation is named: [projects/PROJECT/reservations/]NAME[/reservationBlocks/BLOCK]."""
    whole, _, block = path.partition("/reservationBlocks/")
    project, _, name = whole.removeprefix("projects/").rpartition("/reservations/")
    specific: dict[str, Any] = {"name": name}
    if project:
        specific["project"] = project
    if block:
        specific["reservationBlock"] = {"name": block}
    return specific


def _storage(pool: Pool, disk_key: str | None) -> dict[str, Any]:
    fields = {
        "secondaryBootDisks": [_image_disk(image) for image in pool.secondary_boot_disks],
        "bootDiskType": pool.boot_disk.type,
        "bootDiskSize": pool.boot_disk.size_gb,
        "bootDiskKMSKey": disk_key,
        "localSSDCount": pool.local_ssd_count or None,
    }
    return {key: value for key, value in fields.items() if value}


def _image_disk(path: str) -> dict[str, str]:
    """Returns a disk of container images, whose image is [projects/PROJECT/]global/images/NAME."""
    project, _, name = path.removeprefix("projects/").rpartition("global/images/")
    disk = {"diskImageName": name, "mode": "CONTAINER_IMAGE_CACHE"}
    return {**disk, "project": project.rstrip("/")} if project else disk
