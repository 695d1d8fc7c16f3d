"""The node configuration of a pool: machine, accelerators, disks, service account."""

import pulumi
from pulumi_gcp.container import (
    NodePoolNodeConfigArgs,
    NodePoolNodeConfigConfidentialNodesArgs,
    NodePoolNodeConfigEphemeralStorageLocalSsdConfigArgs,
    NodePoolNodeConfigFastSocketArgs,
    NodePoolNodeConfigGcfsConfigArgs,
    NodePoolNodeConfigGuestAcceleratorArgs,
    NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs,
    NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgs,
    NodePoolNodeConfigGvnicArgs,
    NodePoolNodeConfigReservationAffinityArgs,
    NodePoolNodeConfigSecondaryBootDiskArgs,
    NodePoolNodeConfigShieldedInstanceConfigArgs,
    NodePoolNodeConfigTaintArgs,
    NodePoolNodeConfigWorkloadMetadataConfigArgs,
)

from components.foundation import node_system
from components.foundation.google_cloud import api_word
from components.foundation.upkeep import PLATFORM_SCOPE
from settings.model.foundation.node_defaults import NodeDefaults
from settings.model.pools.gpus import Gpu, Sharing
from settings.model.pools.pool import Pool

RESERVATION_NAME = "compute.googleapis.com/reservation-name"
DRIVER_VERSIONS = {"default": "DEFAULT", "latest": "LATEST", "disabled": "INSTALLATION_DISABLED"}
SHARING_STRATEGIES = {"time-sharing": "TIME_SHARING", "mps": "MPS"}
TAINT_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}


def node_config(
    pool: Pool, service_account: pulumi.Input[str], defaults: NodeDefaults
) -> NodePoolNodeConfigArgs:
    """Returns a pool's node configuration; `service_account` and `defaults` are for pools that name none."""
    config = NodePoolNodeConfigArgs(
        machine_type=pool.machine_type,
        guest_accelerators=[_accelerator(pool.gpu)] if pool.gpu else None,
        reservation_affinity=_reservation(pool),
        spot=True if pool.provisioning == "spot" else None,
        flex_start=True if pool.flex_start_vms else None,
        max_run_duration=f"{pool.max_run_seconds}s" if pool.max_run_seconds else None,
        labels=pool.declared_labels or None,
        taints=[
            NodePoolNodeConfigTaintArgs(key=key, value=value, effect=TAINT_EFFECTS[effect])
            for key, value, effect in pool.declared_taints
        ]
        or None,
        service_account=pool.service_account or service_account,
        oauth_scopes=[PLATFORM_SCOPE],
        shielded_instance_config=NodePoolNodeConfigShieldedInstanceConfigArgs(
            enable_secure_boot=pool.secure_boot, enable_integrity_monitoring=True
        ),
        workload_metadata_config=NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
    )
    if pool.confidential_nodes:
        config.confidential_nodes = NodePoolNodeConfigConfidentialNodesArgs(
            enabled=True, confidential_instance_type=confidential_type(pool)
        )
    config.kubelet_config = node_system.kubelet(pool.kubelet)
    config.linux_node_config = node_system.linux(pool.linux)
    config.resource_manager_tags = defaults.tags_of(pool) or None
    config.boot_disk_kms_key = defaults.key_of(pool)
    _add_disks(config, pool)
    _add_network_cards(config, pool)
    return config


def confidential_type(pool: Pool) -> str | None:
    """Returns the API's word for the technology of confidential nodes."""
    return pool.confidential_nodes and api_word(pool.confidential_nodes)


def _reservation(pool: Pool) -> NodePoolNodeConfigReservationAffinityArgs | None:
    if pool.provisioning == "on-demand":
        return None
    if pool.reservation:
        return NodePoolNodeConfigReservationAffinityArgs(
            consume_reservation_type="SPECIFIC_RESERVATION", key=RESERVATION_NAME, values=[pool.reservation]
        )
    # Spot, flex-start and queued nodes cannot use reservations; GKE refuses queued pools that may.
    return NodePoolNodeConfigReservationAffinityArgs(consume_reservation_type="NO_RESERVATION")


def _accelerator(gpu: Gpu) -> NodePoolNodeConfigGuestAcceleratorArgs:
    return NodePoolNodeConfigGuestAcceleratorArgs(
        type=gpu.type,
        count=gpu.count,
        gpu_partition_size=gpu.partition,
        gpu_sharing_config=_sharing(gpu.sharing) if gpu.sharing else None,
        gpu_driver_installation_config=NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(
            gpu_driver_version=DRIVER_VERSIONS[gpu.driver]
        ),
    )


def _sharing(sharing: Sharing) -> NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgs:
    return NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgs(
        gpu_sharing_strategy=SHARING_STRATEGIES[sharing.strategy],
        max_shared_clients_per_gpu=sharing.max_clients,
    )


def _add_disks(config: NodePoolNodeConfigArgs, pool: Pool) -> None:
    config.disk_type = pool.boot_disk.type
    config.disk_size_gb = pool.boot_disk.size_gb
    if pool.local_ssd_count:
        config.ephemeral_storage_local_ssd_config = NodePoolNodeConfigEphemeralStorageLocalSsdConfigArgs(
            local_ssd_count=pool.local_ssd_count
        )
    if pool.secondary_boot_disks:
        config.secondary_boot_disks = [
            NodePoolNodeConfigSecondaryBootDiskArgs(disk_image=image, mode="CONTAINER_IMAGE_CACHE")
            for image in pool.secondary_boot_disks
        ]
    if pool.image_streamed:
        config.gcfs_config = NodePoolNodeConfigGcfsConfigArgs(enabled=True)


def _add_network_cards(config: NodePoolNodeConfigArgs, pool: Pool) -> None:
    """Enables gVNIC for GPUDirect, DRANET and Fast Socket, which need it; otherwise GKE chooses."""
    if pool.gpudirect == "rdma":
        config.gpudirect_strategy = "RDMA"
    if pool.gpudirect or pool.dranet or pool.fast_socket:
        config.gvnic = NodePoolNodeConfigGvnicArgs(enabled=True)
    if pool.fast_socket:
        config.fast_socket = NodePoolNodeConfigFastSocketArgs(enabled=True)
